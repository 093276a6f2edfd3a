/** Shows a JSON value as a tree that can be operated by keyboard. Long texts and lists are shown part by part. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { splitHidden } from "#client/visible-text.ts";
import { CopyButton } from "./controls.tsx";
import { Card } from "./layout.tsx";

const OPEN_DEPTH = 3;
const OPEN_MAX_CHILDREN = 40;
/** Maximum number of nodes that are open initially, at any depth. */
const OPEN_MAX_NODES = 400;
const CHILDREN_STEP = 100;
const MAX_NAME_CHARACTERS = 200;
const MAX_STRING_CHARACTERS = 600;
const STRING_STEP = 20_000;

export function JsonTree({ value }: { value: unknown }) {
  const openDepth = useMemo(() => chooseOpenDepth(value), [value]);
  return (
    <div class="tree">
      <Node value={value} levels={openDepth} />
    </div>
  );
}

interface JsonCardProps {
  title: string;
  value: unknown;
  /** Label of the copy button. */
  copy: string;
  side?: ComponentChildren;
}

export function JsonCard({ title, value, copy, side }: JsonCardProps) {
  const buttons = (
    <>
      {side}
      <CopyButton text={() => JSON.stringify(value, null, 2)} label={copy} />
    </>
  );
  return (
    <Card title={title} side={buttons}>
      <JsonTree value={value} />
    </Card>
  );
}

/** Returns the number of levels that are open initially. */
function chooseOpenDepth(value: unknown): number {
  let level = [value];
  let nodes = 0;
  for (let depth = 0; depth < OPEN_DEPTH; depth++) {
    level = level.flatMap((one) =>
      isBranch(one) ? listMembers(one, OPEN_MAX_CHILDREN).map(([, child]) => child) : [],
    );
    nodes += level.length;
    if (nodes > OPEN_MAX_NODES) return depth;
  }
  return OPEN_DEPTH;
}

function isBranch(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Returns the first `most` members: there may be a million. */
function listMembers(value: object, most: number): [name: string, child: unknown][] {
  if (Array.isArray(value)) return value.slice(0, most).map((child, index) => [String(index), child]);
  return Object.keys(value)
    .slice(0, most)
    .map((name) => [name, (value as Record<string, unknown>)[name]]);
}

/** `levels` is the number of levels below this node that are open initially. */
function Node({ name, value, levels }: { name?: string; value: unknown; levels: number }) {
  const label =
    name === undefined ? null : (
      <>
        <span class="name">
          <Plain text={name.length > MAX_NAME_CHARACTERS ? `${name.slice(0, MAX_NAME_CHARACTERS)}…` : name} />
        </span>
        :{" "}
      </>
    );
  if (isBranch(value)) return <Branch label={label} value={value} levels={levels} />;
  return (
    <span>
      {label}
      <Leaf value={value} />
    </span>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <Text text={value} />;
  if (typeof value === "number") return <span class="number">{String(value)}</span>;
  return <span class="literal">{value === undefined ? "undefined" : String(value)}</span>;
}

function Text({ text }: { text: string }) {
  const [shown, setShown] = useState(MAX_STRING_CHARACTERS);
  return (
    <span class="string">
      "<Plain text={text.slice(0, shown)} />
      {text.length > shown ? (
        <button type="button" onClick={() => setShown(shown + STRING_STEP)}>
          {" "}
          … {text.length - shown} more characters
        </button>
      ) : (
        '"'
      )}
    </span>
  );
}

/** Shows an object's name, chosen by its author, and its id. */
export function Named({ name, id }: { name: string; id: string }) {
  return (
    <>
      <Plain text={name} /> <span class="muted mono">{id}</span>
    </>
  );
}

/** Shows foreign text with invisible characters escaped, so that it cannot affect the text around it. */
export function Plain({ text }: { text: string }) {
  return (
    <>
      {splitHidden(text).map((part, index) =>
        part.isHidden ? (
          <span key={index} class="strange">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </>
  );
}

interface BranchProps {
  label: ComponentChildren;
  value: object;
  levels: number;
}

function Branch({ label, value, levels }: BranchProps) {
  const isList = Array.isArray(value);
  const length = useMemo(() => (Array.isArray(value) ? value.length : Object.keys(value).length), [value]);
  const [isOpen, setOpen] = useState(levels > 0 && length <= OPEN_MAX_CHILDREN);
  const [shown, setShown] = useState(CHILDREN_STEP);
  const brackets = isList ? (["[", "]"] as const) : (["{", "}"] as const);
  if (length === 0) {
    return (
      <span>
        {label}
        <span class="count">{brackets.join("")}</span>
      </span>
    );
  }
  return (
    <>
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? "▾ " : "▸ "}
        {label}
        {brackets[0]}
        {isOpen ? null : <span class="count">{` ${length} `}</span>}
        {isOpen ? null : brackets[1]}
      </button>
      {isOpen ? (
        <>
          <ul>
            {listMembers(value, shown).map(([name, child]) => (
              <li key={name}>
                <Node {...(isList ? {} : { name })} value={child} levels={levels - 1} />
              </li>
            ))}
            {length > shown ? (
              <li>
                <button type="button" onClick={() => setShown(shown + CHILDREN_STEP)}>
                  … {length - shown} more
                </button>
              </li>
            ) : null}
          </ul>
          <span class="count">{brackets[1]}</span>
        </>
      ) : null}
    </>
  );
}
