/** How the form library's fields look here: labels above, hints below, buttons with names. Descriptions are plain text. */
import PasswordWidget from "@rjsf/core/lib/components/widgets/PasswordWidget.js";
import { ADDITIONAL_PROPERTY_FLAG, type WidgetProps } from "@rjsf/utils";
import type { ComponentChildren } from "preact";
import { Plus, X } from "../parts/icons.tsx";

interface FieldProps {
  id: string;
  label: string;
  rawDescription?: string;
  rawErrors?: string[];
  required?: boolean;
  hidden?: boolean;
  displayLabel?: boolean;
  schema: { type?: unknown };
  children: ComponentChildren;
  onKeyRenameBlur: (event: unknown) => void;
  onRemoveProperty: () => void;
}

function FieldTemplate(props: FieldProps) {
  const { id, label, rawDescription, rawErrors = [], required, displayLabel, schema, children } = props;
  if (props.hidden) return <div hidden>{children}</div>;
  // A member that the schema does not name.
  const isAdditional = ADDITIONAL_PROPERTY_FLAG in schema;
  const showsLabel = displayLabel === true && schema.type !== "boolean";
  const field = (
    <div class="field">
      {showsLabel ? (
        <label for={id}>
          {label}
          {required ? <span class="muted"> · required</span> : null}
        </label>
      ) : null}
      {children}
      {rawDescription && schema.type !== "object" ? (
        <span class="hint" id={`${id}__description`}>
          {rawDescription}
        </span>
      ) : null}
      {rawErrors.map((error) => (
        <span key={error} class="field-error" role="alert">
          {error}
        </span>
      ))}
    </div>
  );
  if (!isAdditional) return field;
  return (
    <div class="item">
      <div class="fields">
        <div class="field">
          <label for={`${id}-key`}>Name</label>
          <input id={`${id}-key`} type="text" defaultValue={label} onBlur={props.onKeyRenameBlur as never} />
        </div>
        {field}
      </div>
      <RemoveButton onClick={props.onRemoveProperty} />
    </div>
  );
}

interface GroupProps {
  title: string;
  description?: ComponentChildren;
  required?: boolean;
  fieldPathId: { $id: string; path: readonly unknown[] };
  schema: { description?: string; additionalProperties?: unknown; title?: string };
  optionalDataControl?: ComponentChildren;
}

function Group({
  title,
  fieldPathId,
  schema,
  required,
  optionalDataControl,
  children,
}: GroupProps & { children: ComponentChildren }) {
  const isTop = fieldPathId.path.length === 0;
  return (
    <fieldset class="group" id={fieldPathId.$id}>
      <legend class={isTop && !schema.title ? "visually-hidden" : ""}>
        {title || "Values"}
        {required ? <span class="muted"> · required</span> : null}
      </legend>
      {schema.description && !isTop ? <span class="hint">{schema.description}</span> : null}
      {optionalDataControl}
      {children}
    </fieldset>
  );
}

function ObjectFieldTemplate(
  props: GroupProps & {
    properties: { name: string; content: ComponentChildren; hidden?: boolean }[];
    onAddProperty: () => void;
    readonly?: boolean;
  },
) {
  const { properties, schema } = props;
  return (
    <Group {...props}>
      {properties.map(({ content }) => content)}
      {properties.length === 0 && !schema.additionalProperties ? (
        <p class="hint">Nothing to fill in.</p>
      ) : null}
      {schema.additionalProperties ? <AddButton onClick={props.onAddProperty} /> : null}
    </Group>
  );
}

function ArrayFieldTemplate(
  props: GroupProps & { items: ComponentChildren[]; canAdd?: boolean; onAddClick: () => void },
) {
  return (
    <Group {...props}>
      {props.items}
      {props.canAdd ? <AddButton onClick={props.onAddClick} /> : null}
    </Group>
  );
}

function ArrayFieldItemTemplate({
  children,
  buttonsProps,
}: {
  children: ComponentChildren;
  buttonsProps: { hasRemove?: boolean; onRemoveItem: () => void };
}) {
  return (
    <div class="item">
      <div>{children}</div>
      {buttonsProps.hasRemove ? <RemoveButton onClick={buttonsProps.onRemoveItem} /> : null}
    </div>
  );
}

function AddButton({ onClick }: { onClick?: () => void }) {
  return (
    <div>
      <button type="button" class="button small" onClick={() => onClick?.()}>
        <Plus /> Add
      </button>
    </div>
  );
}

function RemoveButton({ onClick }: { onClick?: () => void }) {
  return (
    <button type="button" class="button quiet small icon" aria-label="Remove" onClick={() => onClick?.()}>
      <X />
    </button>
  );
}

function Checkbox({
  id,
  value,
  label,
  onChange,
}: {
  id: string;
  value?: boolean;
  label: string;
  onChange: (value: boolean) => void;
}) {
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
    </div>
  );
}

/** Which of several schemas a value is to fit. */
function MultiSchemaFieldTemplate({
  selector,
  optionSchemaField,
}: {
  selector: ComponentChildren;
  optionSchemaField: ComponentChildren;
}) {
  return (
    <div class="stack tight">
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the selector is one */}
      <label>
        <span class="visually-hidden">Kind of value</span>
        {selector}
      </label>
      {optionSchemaField}
    </div>
  );
}

function Nothing() {
  return null;
}

export const templates = {
  FieldTemplate,
  ObjectFieldTemplate,
  ArrayFieldTemplate,
  ArrayFieldItemTemplate,
  MultiSchemaFieldTemplate,
  DescriptionFieldTemplate: Nothing,
  ErrorListTemplate: Nothing,
  ButtonTemplates: { AddButton, RemoveButton, SubmitButton: Nothing },
} as never;

function HiddenInput(props: WidgetProps) {
  const options = { ...props.options, autocomplete: "new-password" as const };
  return <PasswordWidget {...props} options={options} />;
}

/** Every widget of the library that something is typed into. */
const TYPED = [
  "TextWidget",
  "PasswordWidget",
  "EmailWidget",
  "URLWidget",
  "TextareaWidget",
  "UpDownWidget",
  "RangeWidget",
  "ColorWidget",
  "DateWidget",
  "TimeWidget",
  "DateTimeWidget",
  "AltDateWidget",
  "AltDateTimeWidget",
];
const ownWidgets = { CheckboxWidget: Checkbox };

export const widgets = ownWidgets as never;
/** Nothing that is typed can be read, wherever in the value it stands. */
export const secretWidgets = {
  ...ownWidgets,
  ...Object.fromEntries(TYPED.map((name) => [name, HiddenInput])),
} as never;
