/** Finds the differences between two JSON values, and shows them as red and green signed lines. */
import { toPointer } from "../forms/settings-patch.ts";
import { Plain } from "../parts/json-tree.tsx";
import { type Approval, get, useResource } from "../server/api.ts";

interface Change {
  /** JSON Pointer; "" is the complete value. */
  path: string;
  before?: unknown;
  after?: unknown;
}

export interface ChangedLine {
  sign: "+" | "-" | " ";
  text: string;
}

const MAX_CHANGES = 200;
export const MAX_LINES = 2000;
const MAX_DEPTH = 32;
const SEARCHED = 20;
const MAX_VALUE_CHARACTERS = 300;
const CLASSES = { "+": "added", "-": "removed", " ": "" };

interface ChangesProps {
  lines: readonly ChangedLine[];
  maxCharacters?: number;
}

export function Changes({ lines, maxCharacters = Number.POSITIVE_INFINITY }: ChangesProps) {
  return (
    <ol class="changes">
      {lines.slice(0, MAX_LINES).map(({ sign, text }, index) => (
        <li key={index} class={CLASSES[sign]}>
          <Plain text={`${sign} ${text.slice(0, maxCharacters)}${text.length > maxCharacters ? "…" : ""}`} />
        </li>
      ))}
    </ol>
  );
}

export function toLines(
  changes: readonly Change[],
  write: (value: unknown) => string = (value) => JSON.stringify(value) ?? "undefined",
): ChangedLine[] {
  return changes.flatMap((change) => {
    const line = (sign: "+" | "-", value: unknown) => ({
      sign,
      text: `${change.path || "/"}  ${write(value)}`,
    });
    return [
      ...("before" in change ? [line("-", change.before)] : []),
      ...("after" in change ? [line("+", change.after)] : []),
    ];
  });
}

/** A member that is absent on one side is absent in the change. Returns at most `MAX_CHANGES`. */
export function listChanges(before: unknown, after: unknown): Change[] {
  const changes: Change[] = [];
  compare(before, after, "", 0, changes);
  return changes;
}

function compare(before: unknown, after: unknown, path: string, depth: number, changes: Change[]): void {
  if (changes.length >= MAX_CHANGES) return;
  const areAlike = isBranch(before) && isBranch(after) && Array.isArray(before) === Array.isArray(after);
  if (!areAlike || depth > MAX_DEPTH) {
    if (JSON.stringify(before) !== JSON.stringify(after)) changes.push({ path, before, after });
    return;
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const at = path + toPointer([name]);
    if (!Object.hasOwn(before, name)) changes.push({ path: at, after: after[name] });
    else if (!Object.hasOwn(after, name)) changes.push({ path: at, before: before[name] });
    else compare(before[name], after[name], at, depth + 1, changes);
  }
}

function isBranch(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

async function readEarlier(approval: Approval, signal: AbortSignal): Promise<Approval | null> {
  const { id, serviceId, toolId } = approval;
  if (serviceId === null) return null;
  const query = { state: "approved" as const, serviceId, limit: String(SEARCHED) };
  const { approvals } = await get("/approvals", { params: { query }, signal });
  const earlier = approvals.find((other) => other.toolId === toolId && other.id !== id);
  if (earlier === undefined) return null;
  return get("/approvals/{id}", { params: { path: { id: earlier.id } }, signal });
}

/**
 * Compares with the last approved call of the same tool, so that an unusual call among many similar ones stands out.
 */
export function DifferencesFromBefore({ approval }: { approval: Approval }) {
  const isPending = approval.state === "pending";
  const { data: earlier } = useResource(
    async (signal) => (isPending ? readEarlier(approval, signal) : null),
    [approval.id, isPending],
    "until loaded",
  );
  if (earlier === null) return null;
  const changes = [
    ...listChanges(earlier.parameters, approval.parameters),
    ...listChanges(contentsOf(earlier), contentsOf(approval)),
  ].slice(0, MAX_CHANGES);
  return (
    <details open={changes.length > 0}>
      <summary class="small muted">
        {changes.length === 0
          ? "Same parameters as the last approved call"
          : `Changed since the last approved call (by ${earlier.decidedBy ?? "?"})`}
      </summary>
      <Changes lines={toLines(changes, writeWhole)} />
      {changes.length === MAX_CHANGES ? (
        <p class="small muted">Showing the first {MAX_CHANGES}; there may be more.</p>
      ) : null}
    </details>
  );
}

/** Two files with the same name may have different contents. */
function contentsOf({ files }: Approval) {
  return Object.fromEntries(files.map(({ name, size, sha256 }) => [`file ${name}`, { size, sha256 }]));
}

/** Never cut: two values that begin alike would look the same. */
function writeWhole(value: unknown): string {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > MAX_VALUE_CHARACTERS ? `(${text.length} characters, see parameters)` : text;
}
