/** A JSON value as a tree that opens with the keyboard too. Bounded: long texts and lists are shown part by part. */
import { useState } from "preact/hooks";
import { splitStrange } from "./format.ts";

const OPEN_DEPTH = 3;
const OPEN_MAX_CHILDREN = 40;
const CHILDREN_STEP = 100;
const MAX_STRING_CHARACTERS = 600;
const STRING_STEP = 20_000;

export function JsonTree({ value }: { value: unknown }) {
  return (
    <div class="tree">
      <Node value={value} depth={0} />
    </div>
  );
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const label =
    name === undefined ? null : (
      <>
        <span class="name">
          <Plain text={name} />
        </span>
        :{" "}
      </>
    );
  if (typeof value === "object" && value !== null)
    return <Branch label={label} value={value} depth={depth} />;
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

/** Text in which nothing acts on what is round it. */
export function Plain({ text }: { text: string }) {
  return (
    <>
      {splitStrange(text).map((part, index) =>
        part.isStrange ? (
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

function Branch({ label, value, depth }: { label: preact.ComponentChildren; value: object; depth: number }) {
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && entries.length <= OPEN_MAX_CHILDREN);
  const [shown, setShown] = useState(CHILDREN_STEP);
  const brackets = isList ? (["[", "]"] as const) : (["{", "}"] as const);
  if (entries.length === 0) {
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
        {isOpen ? null : <span class="count">{` ${entries.length} `}</span>}
        {isOpen ? null : brackets[1]}
      </button>
      {isOpen ? (
        <>
          <ul>
            {entries.slice(0, shown).map(([name, child]) => (
              <li key={name}>
                {isList ? (
                  <Node value={child} depth={depth + 1} />
                ) : (
                  <Node name={name} value={child} depth={depth + 1} />
                )}
              </li>
            ))}
            {entries.length > shown ? (
              <li>
                <button type="button" onClick={() => setShown(shown + CHILDREN_STEP)}>
                  … {entries.length - shown} more
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
