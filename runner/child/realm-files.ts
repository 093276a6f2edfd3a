/**
 * The realm's code, read from beside the child's own file: the one folder a child may read, and only until it locks
 * itself down. Embedded as text in that file it would cost each start several milliseconds.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseRealmPack, type RealmPack } from "./realm-pack.ts";

/** The name the realm's scripts are compiled under; never shown in stacks of a script. */
export const REALM_FILE_NAME = "cyrnel:realm";

export function readRealm(): RealmPack {
  return parseRealmPack(readFileSync(join(__dirname, "realm.bin")));
}
