/**
 * Entry file of the process child: reads the pack beside it, the one file a child may read and only until it locks
 * itself down, and runs main.ts from it with its code cache. V8 parses this file at each start, so it does nothing else.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Script } from "node:vm";
import { parseRealmPack } from "./realm-pack.ts";

const pack = parseRealmPack(readFileSync(join(__dirname, "realm.bin")));
const { source, cache } = pack.main;
new Script(source.toString("latin1"), { filename: "cyrnel:child", cachedData: cache }).runInThisContext()(
  require,
  pack,
);
