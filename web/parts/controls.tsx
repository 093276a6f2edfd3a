/** Buttons, switches, and the dialogs they open. */
import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon" | "label" | "class"> {
  /** Classes of styles/buttons.css: "primary", "danger", "quiet", "small". */
  look?: string;
  icon?: IconName;
  /** Describes an icon-only button. */
  label?: string;
}

export function Button({ look = "", icon, label, children, ...rest }: ButtonProps) {
  const name = label === undefined ? {} : { "aria-label": label, title: label };
  return (
    <button
      type="button"
      class={`button ${look}${children === undefined ? " icon" : ""}`}
      {...name}
      {...rest}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

interface SwitchProps {
  label: string;
  on: boolean;
  disabled: boolean;
  onChange: (on: boolean) => void;
}

export function Switch({ label, on, disabled, onChange }: SwitchProps) {
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={on}
      aria-label={label}
      disabled={disabled}
      onClick={() => onChange(!on)}
    />
  );
}

const COPIED_MS = 1500;

/** `text` may be a function, called only when needed: serializing a large value takes long. */
export function CopyButton({ text, label }: { text: string | (() => string); label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => setCopied(await writeToClipboard(typeof text === "string" ? text : text()));
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <Button look="quiet small" icon={isCopied ? "check" : "copy"} label={label} onClick={() => void copy()} />
  );
}

/** Returns whether the text was copied. Browsers offer no clipboard over plain HTTP from another machine. */
async function writeToClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text: string): boolean {
  const before = document.activeElement;
  const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
  // Inside an open modal dialog, because elements outside it cannot be selected.
  const parent = before?.closest("dialog") ?? document.body;
  field.className = "visually-hidden";
  parent.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog, open as long as it is rendered. Escape closes it, and the focus returns to where it was before. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // Removing it while it is open would lose the focus.
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={headingId}
      onClose={({ currentTarget }) => currentTarget.isConnected && onClose()}
    >
      <div class="row apart dialog-head">
        <h2 id={headingId}>{title}</h2>
        <Button look="quiet small" icon="x" label="Close" onClick={onClose} />
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

interface ConfirmButtonProps {
  label: string;
  question: string;
  /** Label of the dialog's button. Default: `label`. */
  confirm?: string;
  onConfirm: () => void;
  look?: string;
}

/** Asks for confirmation before something that cannot be undone. */
export function ConfirmButton({
  label,
  question,
  confirm = label,
  onConfirm,
  look = "",
}: ConfirmButtonProps) {
  const [isAsking, setAsking] = useState(false);
  const close = () => setAsking(false);
  const doIt = () => {
    close();
    onConfirm();
  };
  return (
    <>
      <Button look={`danger ${look}`} onClick={() => setAsking(true)}>
        {label}
      </Button>
      {isAsking ? (
        <Dialog title={label} onClose={close}>
          <div class="stack">
            <p class="wrap">{question}</p>
            <div class="row end">
              <Button onClick={close}>Cancel</Button>
              <Button look="danger solid" onClick={doIt}>
                {confirm}
              </Button>
            </div>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
