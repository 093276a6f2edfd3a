/** Small parts of every view. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { writeToClipboard } from "./clipboard.ts";
import { Check, Copy, type Icon, X } from "./icons.tsx";

type Children = { children?: ComponentChildren };

export function PageHead({
  title,
  about,
  back,
  children,
}: Children & {
  title: ComponentChildren;
  about?: ComponentChildren;
  back?: { href: string; label: string };
}) {
  return (
    <header class="page-head">
      <div>
        {back === undefined ? null : (
          <a class="crumb" href={back.href}>
            ← {back.label}
          </a>
        )}
        <h1 tabIndex={-1}>{title}</h1>
        {about === undefined ? null : <p>{about}</p>}
      </div>
      <div class="row">{children}</div>
    </header>
  );
}

export function Card({
  title,
  side,
  flush = false,
  children,
}: Children & { title?: ComponentChildren; side?: ComponentChildren; flush?: boolean }) {
  return (
    <section class="card">
      {title === undefined ? null : (
        <div class="card-head">
          <h2>{title}</h2>
          <div class="row">{side}</div>
        </div>
      )}
      <div class={flush ? "card-body flush" : "card-body"}>{children}</div>
    </section>
  );
}

export function Empty({ icon: Icon, title, children }: Children & { icon: Icon; title: string }) {
  return (
    <div class="empty">
      <Icon />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading</span>
    </div>
  );
}

export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Switch({
  label,
  on,
  disabled = false,
  onChange,
}: {
  label: string;
  on: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
}) {
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

/** `text` as a function is made when it is wanted: of a large value it takes long. */
export function CopyButton({ text, label }: { text: string | (() => string); label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => setCopied(await writeToClipboard(typeof text === "string" ? text : text()));
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button
      type="button"
      class="button quiet small icon"
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      {isCopied ? <Check /> : <Copy />}
    </button>
  );
}

/** A modal dialog as long as it is rendered. Escape closes it. Then the focus is again where it was before. */
export function Dialog({ title, onClose, children }: Children & { title: string; onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // Taken away while it is open, it would leave the focus nowhere.
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={headingId}
      onClose={({ currentTarget }) => currentTarget.isConnected && onClose()}
    >
      <div class="dialog-head">
        <h2 id={headingId}>{title}</h2>
        <button type="button" class="button quiet small icon" aria-label="Close" onClick={onClose}>
          <X />
        </button>
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

/** Asks once more before something that cannot be undone. */
export function ConfirmButton({
  label,
  question,
  confirm,
  onConfirm,
  small = false,
}: {
  label: string;
  question: string;
  confirm: string;
  onConfirm: () => void;
  small?: boolean;
}) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <button
        type="button"
        class={small ? "button danger quiet small" : "button danger"}
        onClick={() => setAsking(true)}
      >
        {label}
      </button>
      {isAsking ? (
        <Dialog title={label} onClose={() => setAsking(false)}>
          <div class="stack">
            <p class="wrap">{question}</p>
            <div class="row end">
              <button type="button" class="button" onClick={() => setAsking(false)}>
                Cancel
              </button>
              <button
                type="button"
                class="button danger solid"
                onClick={() => {
                  setAsking(false);
                  onConfirm();
                }}
              >
                {confirm}
              </button>
            </div>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
