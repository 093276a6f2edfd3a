/** A script of a program that runs one, transpiled while its child is prepared and boots. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { prepareSource, rememberPrepared } from "#runner/source/prepare.ts";
import { expectOneSource } from "#runner/source/transpile.ts";
import type { KeptScripts } from "./kept-scripts.ts";

/** Larger ones are told apart by whoever reads them for good. */
const MAX_SCRIPT_BYTES = 1024 * 1024;

/** Begins with what is in the file; what comes out is kept for the run. Does nothing where it cannot be read. */
export function prepareFileAhead(path: string, scripts: KeptScripts): void {
  const code = readFile(path);
  if (code === null) return;
  const kept = scripts.read(code);
  if (kept !== null) {
    rememberPrepared(code, kept);
    return;
  }
  expectOneSource();
  prepareSource(code).then(
    (prepared) => scripts.keep(code, prepared),
    // Told to the run.
    () => {},
  );
}

function readFile(path: string): string | null {
  let file: number;
  try {
    // What is in a pipe can be read once, and not by this.
    if (!statSync(path).isFile()) return null;
    file = openSync(path, "r");
  } catch {
    return null;
  }
  try {
    const bytes = Buffer.allocUnsafe(MAX_SCRIPT_BYTES);
    const length = readSync(file, bytes, 0, bytes.length, 0);
    return length === bytes.length ? null : bytes.toString("utf8", 0, length);
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}
