/**
 * Names of tools as identifiers, joined by dots where the server groups them by dots or slashes. The same names give the same ids in whatever order they come, and no id ever passes from
 * one tool to another because a third one came or went: rules are written for ids.
 */
import { createHash } from "node:crypto";

const MAX_ID_CHARACTERS = 100;
const HASH_CHARACTERS = 6;
/** Of an id, joined by dots. */
const MAX_SEGMENTS = 8;

/** Ids by name. Names that would share an id all carry a piece of their hash, unless one is the id itself. */
export function assignIds(names: readonly string[]): Map<string, string> {
  const wanted = new Map<string, string[]>();
  for (const name of new Set(names)) {
    const id = toIdentifier(name);
    wanted.set(id, [...(wanted.get(id) ?? []), name]);
  }
  const ids = new Map<string, string>();
  for (const [id, sharers] of wanted) {
    for (const name of sharers) {
      ids.set(name, sharers.length === 1 || name === id ? id : `${id}_${hash(name)}`);
    }
  }
  // Afterwards: another name does not come by the id that a name had before groups were kept.
  const inGroups = Map.groupBy(ids.keys(), toGroupedId);
  inGroups.delete(null);
  for (const [id, sharers] of inGroups) {
    for (const name of sharers) ids.set(name, sharers.length === 1 ? `${id}` : `${id}_${hash(name)}`);
  }
  // A name that looks like another's id with its hash: no accident, so nobody gets the plain one.
  const taken = new Map<string, number>();
  for (const id of ids.values()) taken.set(id, (taken.get(id) ?? 0) + 1);
  for (const [name, id] of ids) {
    if ((taken.get(id) ?? 0) > 1) ids.set(name, `${id}_${hash(`${id} ${name}`, 16)}`);
  }
  return ids;
}

/** `issues.list` and `issues/list` are in the group `issues`, if every piece can be a name. Null: not in a group. */
function toGroupedId(name: string): string | null {
  const pieces = name.split(/[./]/);
  const isGrouped = pieces.length > 1 && pieces.length <= MAX_SEGMENTS && name.length <= MAX_ID_CHARACTERS;
  if (!isGrouped || !pieces.every((piece) => /^[A-Za-z_$][\w$-]*$/.test(piece))) return null;
  return pieces.map(toIdentifier).join(".");
}

function toIdentifier(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_$]/g, "_");
  const started = /^[A-Za-z_$]/.test(plain) ? plain : `_${plain}`;
  const short =
    started.length > MAX_ID_CHARACTERS ? `${started.slice(0, MAX_ID_CHARACTERS)}_${hash(name)}` : started;
  // What every object has, and what makes an object a promise, is no tool.
  return short in Object.prototype || short === "then" ? `${short}_` : short;
}

function hash(text: string, characters = HASH_CHARACTERS): string {
  return createHash("sha256").update(text).digest("hex").slice(0, characters);
}
