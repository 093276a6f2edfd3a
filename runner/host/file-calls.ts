/** The files of a run as its script reads and writes them, bytes as base64 or as text, and as it imports them. */
import type { EnvironmentBindings, ExecutionInput } from "#sdk";
import type { ReadModule } from "../source/modules/graph.ts";
import type { CallHandlers } from "./calls.ts";

/** Of each call, what it comes to. */
export const fileCalls = {
  async readFile(
    bindings: EnvironmentBindings,
    eid: number,
    { name, offset, length, asText }: Params<"readFile">,
  ) {
    if (bindings.readFile === undefined) throw noFiles();
    const bytes = toBuffer(await bindings.readFile(eid, { name, offset, length }));
    if (asText === undefined) return { data: bytes.toString("base64") };
    const whole = bytes.subarray(0, bytes.length < length ? bytes.length : endOfText(bytes));
    return { text: whole.toString(), bytes: whole.length };
  },
  async writeFile(
    bindings: EnvironmentBindings,
    eid: number,
    { name, mode, more, write, data, text }: Params<"writeFile">,
  ) {
    if (bindings.writeFile === undefined) throw noFiles();
    const bytes = data === undefined ? Buffer.from(text ?? "") : Buffer.from(data, "base64");
    return bindings.writeFile(eid, { name, data: bytes, mode, more: more === true, write });
  },
  async removeFile(bindings: EnvironmentBindings, eid: number, { name }: Params<"removeFile">) {
    if (bindings.removeFile === undefined) throw noFiles();
    await bindings.removeFile(eid, { name });
  },
};
type Params<M extends keyof CallHandlers> = Parameters<CallHandlers[M]>[0];

/** What the realm calls the file of a body of `fetch` (runner/child/realm/fetch). */
const BODY_FILE = /^http_*\/\d+$/;

/** The files of a run that only bodies of `fetch` are in: what is left of them at its end is nothing that the script made. */
export function createBodyFiles(bindings: EnvironmentBindings, eid: number) {
  const names = new Set<string>();
  const add = (name: unknown) => typeof name === "string" && BODY_FILE.test(name) && names.add(name);
  return {
    note({ serviceId, toolId, parameters, saveAs }: Params<"invoke">) {
      if (serviceId !== "fetch" || toolId !== "") return;
      add((parameters.body as { file?: unknown } | undefined)?.file);
      add(saveAs);
    },
    async remove() {
      // Most of them never were, or are gone.
      await Promise.allSettled([...names].map((name) => bindings.removeFile?.(eid, { name })));
    },
  };
}

/** Reads the files that a script imports. More than may be imported is cut: it is refused by its length. */
export function createModuleReader(
  { eid, files = [] }: ExecutionInput,
  bindings: EnvironmentBindings,
): ReadModule | undefined {
  if (files.length === 0 || bindings.readFile === undefined) return undefined;
  return async (name, maxBytes) => {
    const size = files.find((file) => file.name === name)?.size;
    if (size === undefined) return null;
    const bytes = await bindings.readFile?.(eid, { name, offset: 0, length: Math.min(size, maxBytes + 1) });
    return bytes === undefined ? null : new TextDecoder().decode(bytes);
  };
}

/** Where the last whole character of UTF-8 ends; all of it where that is not within the last four bytes. */
function endOfText(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function noFiles(): Error {
  const error = new Error("This server gives scripts no files.");
  return Object.assign(error, { code: "files_unavailable" });
}
