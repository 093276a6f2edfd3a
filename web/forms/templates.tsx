/** Templates for the form library's fields: labels above, hints below, named buttons. Descriptions are plain text. */
import PasswordWidget from "@rjsf/core/lib/components/widgets/PasswordWidget.js";
import {
  ADDITIONAL_PROPERTY_FLAG,
  type ArrayFieldItemTemplateProps,
  type ArrayFieldTemplateProps,
  type ContainerFieldTemplateProps,
  type FieldTemplateProps,
  type MultiSchemaFieldTemplateProps,
  type ObjectFieldTemplateProps,
  type WidgetProps,
} from "@rjsf/utils";
import type { ComponentChildren } from "preact";
import { Button } from "../parts/controls.tsx";
import { CheckField } from "../parts/fields.tsx";

function FieldTemplate(props: FieldTemplateProps) {
  const { id, label, rawDescription, rawErrors = [], required, displayLabel, schema, children } = props;
  if (props.hidden) return <div hidden>{children}</div>;
  const field = (
    <div class="field">
      {displayLabel === true && schema.type !== "boolean" ? (
        <label for={id}>
          {label}
          <Required when={required} />
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
  // The schema does not name this member.
  if (!(ADDITIONAL_PROPERTY_FLAG in schema)) return field;
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

function Required({ when = false }: { when?: boolean | undefined }) {
  return when ? <span class="muted"> · required</span> : null;
}

type GroupProps = ContainerFieldTemplateProps & { inside: ComponentChildren };

function Group({ title, fieldPathId, schema, required, optionalDataControl, inside }: GroupProps) {
  const isTop = fieldPathId.path.length === 0;
  return (
    <fieldset class="group" id={fieldPathId.$id}>
      <legend class={isTop && !schema.title ? "visually-hidden" : ""}>
        {title || "Values"}
        <Required when={required} />
      </legend>
      {schema.description && !isTop ? <span class="hint">{schema.description}</span> : null}
      {optionalDataControl}
      {inside}
    </fieldset>
  );
}

function ObjectFieldTemplate(props: ObjectFieldTemplateProps) {
  const { properties, schema, onAddProperty } = props;
  const members = properties.map(({ content }) => content);
  const nothing = properties.length === 0 ? <p class="hint">No fields.</p> : null;
  const end = schema.additionalProperties ? <AddButton onClick={onAddProperty} /> : nothing;
  return <Group {...props} inside={[...members, end]} />;
}

function ArrayFieldTemplate(props: ArrayFieldTemplateProps) {
  const { items, canAdd, onAddClick } = props;
  return (
    <Group {...props} inside={[...items, canAdd ? <AddButton key="add" onClick={onAddClick} /> : null]} />
  );
}

function ArrayFieldItemTemplate({ children, buttonsProps }: ArrayFieldItemTemplateProps) {
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
      <Button look="small" icon="plus" onClick={() => onClick?.()}>
        Add
      </Button>
    </div>
  );
}

function RemoveButton({ onClick }: { onClick?: () => void }) {
  return <Button look="quiet small" icon="x" label="Remove" onClick={() => onClick?.()} />;
}

function Checkbox({ value, label, onChange }: WidgetProps) {
  return <CheckField label={label} checked={value === true} onChange={onChange} />;
}

/** Selects which of several schemas a value uses. */
function MultiSchemaFieldTemplate({ selector, optionSchemaField }: MultiSchemaFieldTemplateProps) {
  return (
    <div class="stack tight">
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the selector is one */}
      <label>
        <span class="visually-hidden">Value type</span>
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
  return <PasswordWidget {...props} options={{ ...props.options, autocomplete: "new-password" }} />;
}

/** All library widgets that accept typed text. */
const TYPED =
  "Text Password Email URL Textarea UpDown Range Color Date Time DateTime AltDate AltDateTime".split(" ");
const ownWidgets = { CheckboxWidget: Checkbox };

export const widgets = ownWidgets as never;
/** Widgets that mask all typed text, at any depth of the value. */
export const secretWidgets = {
  ...ownWidgets,
  ...Object.fromEntries(TYPED.map((name) => [`${name}Widget`, HiddenInput])),
} as never;
