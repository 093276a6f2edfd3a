/** One field with its label, its hint and what is wrong with it. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | null;
}

interface TextFieldProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  type?: "text" | "password" | "number" | "url" | "search" | "datetime-local";
  placeholder?: string;
  required?: boolean;
  /** More lines than one. */
  rows?: number;
  code?: boolean;
  list?: readonly string[];
}

export function TextField(props: TextFieldProps) {
  const id = useId();
  const { label, hint, error, value, onInput, type = "text", rows, code, list } = props;
  const shared = {
    id,
    value,
    required: props.required ?? false,
    placeholder: props.placeholder ?? "",
    spellcheck: false,
    autocomplete: "off" as const,
    "aria-invalid": error ? ("true" as const) : ("false" as const),
    "aria-describedby": error || hint !== undefined ? `${id}-hint` : undefined,
    class: code ? "code mono" : "",
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        <input
          {...shared}
          type={type}
          list={list === undefined ? undefined : `${id}-list`}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <textarea {...shared} rows={rows} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {list === undefined ? null : (
        <datalist id={`${id}-list`}>
          {list.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      {error ? (
        <span id={`${id}-hint`} class="field-error">
          {error}
        </span>
      ) : hint === undefined ? null : (
        <span id={`${id}-hint`} class="hint">
          {hint}
        </span>
      )}
    </div>
  );
}

export function SelectField({
  label,
  hint,
  value,
  options,
  onChange,
}: FieldProps & {
  value: string;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      {hint === undefined ? null : <span class="hint">{hint}</span>}
    </div>
  );
}

export function CheckField({
  label,
  hint,
  checked,
  onChange,
}: FieldProps & { checked: boolean; onChange: (checked: boolean) => void }) {
  const id = useId();
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>
        {label}
        {hint === undefined ? null : <span class="hint muted small"> {hint}</span>}
      </label>
    </div>
  );
}
