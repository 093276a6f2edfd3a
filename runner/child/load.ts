/**
 * Entry file of the process child. Opens the pack next to it, the only file that a child may read and only until its
 * lockdown, and runs main.ts from it with its code cache. V8 parses this file at each start, so it does nothing else.
 */
import { Buffer } from "node:buffer";
import { openSync, readSync } from "node:fs";
import { join } from "node:path";
import { Script } from "node:vm";
import { readRealmHead } from "./realm-pack.ts";

const file = openSync(join(__dirname, "realm.bin"), "r");
const head = readRealmHead((length) => {
  const bytes = Buffer.allocUnsafeSlow(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, 0));
});
const { source, cache } = head.main;
new Script(source.toString("latin1"), { filename: "cyrnel:child", cachedData: cache }).runInThisContext()(
  require,
  head,
  file,
);
