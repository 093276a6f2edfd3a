/** Where two JSON values differ, as paths: for parameters beside those that were approved before. */

export interface Change {
  /** JSON Pointer; "" is the whole value. */
  path: string;
  before?: unknown;
  after?: unknown;
}

export const MAX_CHANGES = 200;
const MAX_DEPTH = 32;

/** A member that is absent on one side is absent in the change. At most 200. */
export function listChanges(before: unknown, after: unknown): Change[] {
  const changes: Change[] = [];
  compare(before, after, "", 0, changes);
  return changes;
}

function compare(before: unknown, after: unknown, path: string, depth: number, changes: Change[]): void {
  if (changes.length >= MAX_CHANGES) return;
  if (
    !isBranch(before) ||
    !isBranch(after) ||
    Array.isArray(before) !== Array.isArray(after) ||
    depth > MAX_DEPTH
  ) {
    if (JSON.stringify(before) !== JSON.stringify(after)) changes.push({ path, before, after });
    return;
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const at = `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (!Object.hasOwn(before, name)) changes.push({ path: at, after: after[name] });
    else if (!Object.hasOwn(after, name)) changes.push({ path: at, before: before[name] });
    else compare(before[name], after[name], at, depth + 1, changes);
  }
}

function isBranch(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
