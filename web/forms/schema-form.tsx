/**
 * Edits a value that has a JSON Schema: in a form, or as JSON if the user prefers that or the schema is too complex
 * for a form. Loaded when it is first shown.
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
  /** Masks everything that is typed. */
  isSecret?: boolean;
}

/** Larger schemas would produce forms with thousands of fields. */
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

/** A new value starts empty: in a masked field, placeholder text could not be seen. */
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
      // Not on blur: an error that appears or disappears during a click would move the button from under the pointer.
      liveValidate="onChange"
      showErrorList={false}
      idPrefix="value"
      templates={templates}
      widgets={isSecret ? secretWidgets : widgets}
      translateString={translate}
      // A default that the user did not choose is not sent.
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

/** Accepts every value if the schema cannot be read: the server validates the request. */
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

/** Interprets schemas, because the page's content security policy does not allow compiling them. */
const formValidator: ValidatorType = {
  validateFormData(data, schema) {
    // Omits errors that only say that some member is invalid: the member has its own error.
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
