/**
 * The realm's bundle and its code cache, read from beside the child's own file: the one folder a child may read, and
 * only until it locks itself down. Embedded as text in that file they would cost each start several milliseconds.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The name the bundle is compiled under; never shown in stacks of a script. */
export const REALM_FILE_NAME = "cyrnel:realm";

/** ASCII only: any other decoding would take longer. */
export function readRealmSource(): string {
  return readFileSync(join(__dirname, "realm.js"), "latin1");
}

/** V8 code cache of the bundle; rejected by a Node with other flags, which only costs time. */
export function readRealmCache(): Buffer {
  return readFileSync(join(__dirname, "realm.cache"));
}
