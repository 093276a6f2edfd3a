/**
 * A value to be filled in after a JSON Schema: as a form, or as JSON where a person prefers that or the schema is beyond
 * what forms can show. Loaded when it is first shown.
 */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import Form from "@rjsf/core/lib/components/Form.js";
import {
  englishStringTranslator,
  type RJSFSchema,
  type RJSFValidationError,
  TranslatableString,
  toErrorSchema,
  type ValidatorType,
} from "@rjsf/utils";
import { useMemo, useState } from "preact/hooks";
import { Button } from "../parts/controls.tsx";
import { ErrorBoundary } from "../parts/failure.tsx";
import { TextField } from "../parts/fields.tsx";
import { secretWidgets, templates, widgets } from "./templates.tsx";

interface SchemaFormProps {
  schema: Record<string, unknown>;
  value: unknown;
  onChange: (value: unknown) => void;
  /** Nothing that is typed can be read. */
  isSecret?: boolean;
}

/** Larger schemas make forms of thousands of fields. */
const MAX_FORM_SCHEMA_CHARACTERS = 60_000;

export default function SchemaForm(props: SchemaFormProps) {
  const { schema } = props;
  const fitsForm = useMemo(() => JSON.stringify(schema).length <= MAX_FORM_SCHEMA_CHARACTERS, [schema]);
  const [asJson, setAsJson] = useState(!fitsForm);
  return (
    <div class="stack tight">
      {asJson ? (
        <JsonField value={props.value} onChange={props.onChange} />
      ) : (
        <ErrorBoundary fallback={<JsonField value={props.value} onChange={props.onChange} />}>
          <FieldsOfSchema {...props} />
        </ErrorBoundary>
      )}
      {fitsForm && !props.isSecret ? (
        <div>
          <Button look="quiet small" onClick={() => setAsJson(!asJson)}>
            {asJson ? "Edit as a form" : "Edit as JSON"}
          </Button>
        </div>
      ) : null}
    </div>
  );
}

const UI_SCHEMA = { "ui:submitButtonOptions": { norender: true } };

/** A value that was just added is empty: where it is typed hidden, other text in it could not be seen. */
function translate(text: TranslatableString, values?: string[]): string {
  return text === TranslatableString.NewStringDefault ? "" : englishStringTranslator(text, values);
}

function FieldsOfSchema({ schema, value, onChange, isSecret = false }: SchemaFormProps) {
  return (
    <Form
      tagName="div"
      className="schema-form"
      schema={schema as RJSFSchema}
      uiSchema={UI_SCHEMA}
      formData={value}
      validator={formValidator}
      // Not at blur: an error that comes or goes while a button is pressed moves the button away from under the pointer.
      liveValidate="onChange"
      showErrorList={false}
      idPrefix="value"
      templates={templates}
      widgets={isSecret ? secretWidgets : widgets}
      translateString={translate}
      // A default that was not chosen is not sent.
      experimental_defaultFormStateBehavior={{
        emptyObjectFields: "skipDefaults",
        arrayMinItems: { populate: "never" },
      }}
      onChange={(event: { formData?: unknown }) => onChange(event.formData)}
    >
      <span />
    </Form>
  );
}

function JsonField({ value, onChange }: { value: unknown; onChange: (value: unknown) => void }) {
  const [text, setText] = useState(() => (value === undefined ? "{}" : JSON.stringify(value, null, 2)));
  const [error, setError] = useState<string | null>(null);
  return (
    <TextField
      label="JSON"
      rows={10}
      code
      value={text}
      error={error}
      onChange={(next) => {
        setText(next);
        try {
          onChange(JSON.parse(next));
          setError(null);
        } catch (failure) {
          setError((failure as Error).message);
        }
      }}
    />
  );
}

const DRAFT = "2020-12";
const ROOT_KEY = "$defs";

/** A schema that cannot be read refuses nothing: the server checks what is sent. */
function validate(schema: RJSFSchema, data: unknown): OutputUnit[] {
  try {
    return new Validator(schema as Schema, DRAFT, false).validate(data ?? null).errors;
  } catch {
    return [];
  }
}

function toError({ instanceLocation, error }: OutputUnit): RJSFValidationError {
  const property = instanceLocation
    .replace(/^#/, "")
    .split("/")
    .filter((part) => part !== "")
    .map((part) => `.${part.replaceAll("~1", "/").replaceAll("~0", "~")}`)
    .join("");
  return { property, message: error, stack: `${property || "value"}: ${error}` };
}

/** Interprets schemas, as the page's policy lets nothing be compiled. */
const formValidator: ValidatorType = {
  validateFormData(data, schema) {
    // "Some member of it does not fit" says nothing beside the member that does not.
    const errors = validate(schema, data)
      .filter(({ keyword }) => keyword !== "properties" && keyword !== "items" && keyword !== "$ref")
      .map(toError);
    return { errors, errorSchema: toErrorSchema(errors) };
  },
  isValid(schema, data, root) {
    const whole = root?.[ROOT_KEY] === undefined ? schema : { [ROOT_KEY]: root[ROOT_KEY], ...schema };
    return validate(whole, data).length === 0;
  },
  rawValidation: (schema, data) => ({ errors: validate(schema, data) as never[] }),
};
