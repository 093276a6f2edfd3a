/**
 * Entry file of the built command, started by cyrnel.cjs: loads what is asked for. Holds what begins a script on this machine,
 * which is to begin at once.
 */
import { beginAhead } from "../local/ahead.ts";
import { findScriptFolder, openKeptScripts } from "../local/kept-scripts.ts";
import { guessLocalLevel, guessScript } from "./run/hint.ts";

/** For what is loaded later, in bundles of its own. */
export { isBegunAhead, prepareSource, takeGround } from "../local/ahead.ts";

/** What build.ts calls what turns scripts into what is run. */
declare const CYRNEL_BUILD: string;

async function start(): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: what cyrnel.cjs set for Node is not for the programs this one starts.
  delete process.env.NODE_COMPILE_CACHE;
  const level = guessLocalLevel(process.argv.slice(2));
  if (level === null) {
    const { runAny } = require("./any.js") as typeof import("./any.ts");
    return runAny();
  }
  // biome-ignore lint/style/noProcessEnv: where the user has caches.
  const scripts = openKeptScripts(findScriptFolder(process.env), CYRNEL_BUILD);
  const ahead = beginAhead(level, guessScript(process.argv.slice(2)), scripts);
  await ahead.started;
  const { runHere } = require("./here.js") as typeof import("./here.ts");
  return runHere(ahead);
}

void start();
