import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Action } from "./action.tsx";
import { Button } from "./controls.tsx";
import { Failure } from "./failure.tsx";
import type { IconName } from "./icons.tsx";

/** State of a form's text fields. `values` are trimmed; `field(name)` returns a field's properties. */
export function useFields<T extends Record<string, string>>(initial: T) {
  const [texts, setTexts] = useState(initial);
  const set = (change: Partial<T>) => setTexts((before) => ({ ...before, ...change }));
  return {
    values: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.trim()])) as T,
    set,
    field: <K extends keyof T>(name: K) => ({
      value: texts[name],
      onChange: (value: string) => set({ [name]: value } as unknown as Partial<T>),
    }),
  };
}

interface FormProps {
  action: Action;
  submit: string;
  icon?: IconName;
  /** True while the form is incomplete. */
  disabled?: boolean;
  onSubmit: () => void;
  children: ComponentChildren;
}

export function Form({ action, submit, icon, disabled = false, onSubmit, children }: FormProps) {
  const send = (event: Event) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form class="stack" onSubmit={send}>
      {children}
      <Failure error={action.error} />
      <div class="row end">
        <Button type="submit" look="primary" {...(icon && { icon })} disabled={disabled || action.isBusy}>
          {submit}
        </Button>
      </div>
    </form>
  );
}

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | null;
  value: string;
  onChange: (value: string) => void;
}

interface TextFieldProps extends FieldProps {
  type?: "text" | "password" | "url" | "search" | "datetime-local";
  placeholder?: string;
  required?: boolean;
  rows?: number;
  code?: boolean;
}

export function TextField(props: TextFieldProps) {
  const id = useId();
  const { label, hint, error = null, value, onChange, type = "text", rows, code } = props;
  const said = error ?? hint;
  const shared = {
    id,
    value,
    required: props.required ?? false,
    placeholder: props.placeholder ?? "",
    spellcheck: false,
    autocomplete: "off" as const,
    "aria-invalid": error !== null,
    "aria-describedby": said === undefined ? undefined : `${id}-hint`,
    class: code ? "code mono" : "",
    onInput: (event: JSX.TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      onChange(event.currentTarget.value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? <input {...shared} type={type} /> : <textarea {...shared} rows={rows} />}
      {said === undefined ? null : (
        <span id={`${id}-hint`} class={error === null ? "hint" : "field-error"}>
          {said}
        </span>
      )}
    </div>
  );
}

interface SelectFieldProps extends FieldProps {
  options: readonly (readonly [value: string, label: string])[];
}

export function SelectField({ label, value, options, onChange }: SelectFieldProps) {
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
    </div>
  );
}

interface CheckFieldProps {
  label: string;
  hint?: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}

export function CheckField({ label, hint, checked, onChange }: CheckFieldProps) {
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
