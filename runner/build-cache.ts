/**
 * Run by build.ts in a Node with the flags of a child: writes the V8 code cache of the realm, taken after an
 * installation, so that it holds the functions every start runs. Arguments: bundle, cache file.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import vm from "node:vm";

const [bundle, cache] = process.argv.slice(2) as [string, string];
const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
  codeGeneration: { strings: false, wasm: false },
});
const script = new vm.Script(readFileSync(bundle, "latin1"), { filename: "cyrnel:realm" });
const realm = script.runInContext(context)(() => {}, false);
realm.turn();
writeFileSync(`${cache}.${process.pid}`, script.createCachedData());
renameSync(`${cache}.${process.pid}`, cache);
