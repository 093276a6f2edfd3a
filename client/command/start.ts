/** Entry file of the built command: has V8 keep what it has compiled beside the build, then loads what is asked for. */
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { guessLocalLevel } from "./run/hint.ts";

enableCompileCache(join(import.meta.dirname, "compiled"));
const level = guessLocalLevel(process.argv.slice(2));
if (level !== null) {
  const { beginAhead } = await import("../local/ahead.ts");
  await beginAhead(level);
}
await import("./main.ts");
