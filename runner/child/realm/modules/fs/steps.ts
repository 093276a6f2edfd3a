/**
 * Runs operations of `node:fs`, which are written once: each yields its requests for file contents, and the caller
 * waits for them or blocks.
 */

import type { Change, FileAccess, WriteMode } from "../../host/file-access.ts";
import type { Pieces } from "../../host/file-content.ts";
import { invalidType } from "./tree.ts";

type Step =
  | { do: "read"; name: string; offset: number; length: number }
  | { do: "write"; name: string; data: string | Uint8Array; mode: WriteMode }
  | { do: "write pieces"; name: string; pieces: Pieces; mode: "replace" | "append" }
  | Change;
// biome-ignore lint/suspicious/noExplicitAny: the code that yields a step knows its result type.
export type Operation<T> = Generator<Step, T, any>;

export function runSync<T>(access: FileAccess, operation: Operation<T>): T {
  let turn = operation.next();
  while (!turn.done) {
    const step = turn.value;
    let answer: unknown;
    if (step.do === "read") answer = access.readSync(step.name, step.offset, step.length);
    else if (step.do === "write") access.writeSync(step.name, step.data, step.mode);
    else if (step.do === "write pieces")
      throw invalidType("data", "a string, a Buffer or another view of bytes", step.pieces);
    else access.changeSync(step);
    turn = operation.next(answer);
  }
  return turn.value;
}

export async function runAsync<T>(access: FileAccess, operation: Operation<T>): Promise<T> {
  let turn = operation.next();
  while (!turn.done) {
    const step = turn.value;
    let answer: unknown;
    if (step.do === "read") answer = await access.read(step.name, step.offset, step.length);
    else if (step.do === "write") await access.write(step.name, step.data, step.mode);
    else if (step.do === "write pieces")
      await access.writePieces("fs.writeFile", step.name, step.pieces, step.mode);
    else await access.change(step);
    turn = operation.next(answer);
  }
  return turn.value;
}
