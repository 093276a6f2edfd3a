/**
 * A value to be filled in after a JSON Schema: as a form, or as JSON where somebody prefers that or a schema is beyond
 * what forms can show. Loaded when it is first shown.
 */
import Form from "@rjsf/core/lib/components/Form.js";
import { englishStringTranslator, type RJSFSchema, TranslatableString } from "@rjsf/utils";
import { useMemo, useState } from "preact/hooks";
import { ErrorBoundary } from "../parts/error-boundary.tsx";
import { TextField } from "../parts/field.tsx";
import { secretWidgets, templates, widgets } from "./templates.tsx";
import { formValidator } from "./validator.ts";

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
          <button type="button" class="button quiet small" onClick={() => setAsJson(!asJson)}>
            {asJson ? "Edit as a form" : "Edit as JSON"}
          </button>
        </div>
      ) : null}
    </div>
  );
}

const UI_SCHEMA = { "ui:submitButtonOptions": { norender: true } };

/** A value that was just added is empty: where it is typed hidden, nobody would see that it is not. */
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
      // A default that nobody chose is not sent.
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
      onInput={(next) => {
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
