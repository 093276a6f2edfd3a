/**
 * Entry file of the built command, started by cyrnel.cjs. Has V8 keep what it has compiled beside the build, then loads what is
 * asked for; for a script on this machine first what starts its process.
 */
import { createRequire, enableCompileCache } from "node:module";
import { join } from "node:path";
import { guessLocalLevel, guessScript } from "./run/hint.ts";

const load = createRequire(import.meta.filename);

async function start(): Promise<void> {
  enableCompileCache(join(import.meta.dirname, "compiled"));
  const level = guessLocalLevel(process.argv.slice(2));
  if (level === null) {
    const { runAny } = load("./any.js") as typeof import("./any.ts");
    return runAny();
  }
  const { beginAhead } = load("./ahead.cjs") as typeof import("../local/ahead.ts");
  const ahead = beginAhead(level);
  await ahead.started;
  const path = guessScript(process.argv.slice(2));
  if (path !== null) {
    const { prepareFileAhead } = load("./prepare-ahead.cjs") as typeof import("../local/prepare-ahead.ts");
    prepareFileAhead(path);
  }
  const { runHere } = load("./here.cjs") as typeof import("./here.ts");
  return runHere(ahead);
}

void start();
