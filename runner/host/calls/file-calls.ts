/** File calls of a run: its script reads, writes and imports workspace files. */
import type { EnvironmentBindings, ExecutionInput } from "#sdk";
import type { ReadModule } from "../../source/modules/graph.ts";
import { decodeModule } from "../../source/modules/text.ts";
import { endOfText } from "../../utf8.ts";
import type { CallHandlers } from "./calls.ts";

export const fileCalls = {
  async readFile(
    bindings: EnvironmentBindings,
    eid: number,
    { name, offset, length, asText }: Params<"readFile">,
  ) {
    if (bindings.readFile === undefined) throw noFiles();
    const bytes = toBuffer(await bindings.readFile(eid, { name, offset, length })).subarray(0, length);
    if (asText === undefined) return bytes;
    const whole = bytes.subarray(0, bytes.length < length ? bytes.length : endOfText(bytes));
    return { text: whole.toString(), bytes: whole.length };
  },
  async writeFile(
    bindings: EnvironmentBindings,
    eid: number,
    { name, mode, at, more, write, text }: Params<"writeFile">,
    bytes: Buffer | null,
  ) {
    if (bindings.writeFile === undefined) throw noFiles();
    const data = bytes ?? Buffer.from(text ?? "");
    return bindings.writeFile(eid, {
      name,
      data,
      mode,
      ...(at !== undefined && { at }),
      more: more === true,
      write,
    });
  },
  async removeFile(bindings: EnvironmentBindings, eid: number, { name }: Params<"removeFile">) {
    if (bindings.removeFile === undefined) throw noFiles();
    await bindings.removeFile(eid, { name });
  },
  async copyFile(bindings: EnvironmentBindings, eid: number, { name, to, moves }: Params<"copyFile">) {
    if (bindings.copyFile === undefined) throw noFiles();
    return bindings.copyFile(eid, { name, to, moves: moves === true });
  },
  async resizeFile(bindings: EnvironmentBindings, eid: number, file: Params<"resizeFile">) {
    if (bindings.resizeFile === undefined) throw noFiles();
    return bindings.resizeFile(eid, file);
  },
};
type Params<M extends keyof CallHandlers> = Parameters<CallHandlers[M]>[0];

/** File name that the realm gives a `fetch` body (runner/child/realm/fetch). */
const BODY_FILE = /^http_*\/\d+$/;

/**
 * Files that contain only `fetch` bodies. They are removed when the run ends, because the script did not create them.
 */
export interface BodyFiles {
  note(call: Params<"invoke">): void;
  /** Keeps the file: the script writes one with this name. */
  forget(name: string): void;
  remove(): Promise<void>;
}

export function createBodyFiles(bindings: EnvironmentBindings, eid: number): BodyFiles {
  const names = new Set<string>();
  const add = (name: unknown) => typeof name === "string" && BODY_FILE.test(name) && names.add(name);
  return {
    note({ serviceId, toolId, parameters, saveAs }: Params<"invoke">) {
      if (serviceId !== "fetch" || toolId !== "") return;
      add((parameters.body as { file?: unknown } | undefined)?.file);
      add(saveAs);
    },
    forget: (name) => void names.delete(name),
    async remove() {
      // Most were never written or are already gone.
      await Promise.allSettled([...names].map((name) => bindings.removeFile?.(eid, { name })));
    },
  };
}

export function createModuleReader(
  { eid, files = [] }: ExecutionInput,
  bindings: EnvironmentBindings,
): ReadModule | undefined {
  if (files.length === 0 || bindings.readFile === undefined) return undefined;
  return async (name, maxBytes) => {
    const size = files.find((file) => file.name === name)?.size;
    if (size === undefined) return null;
    const bytes = await bindings.readFile?.(eid, { name, offset: 0, length: Math.min(size, maxBytes + 1) });
    return bytes === undefined ? null : decodeModule(name, bytes, maxBytes);
  };
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function noFiles(): Error {
  const error = new Error("This server gives scripts no files.");
  return Object.assign(error, { code: "files_unavailable" });
}
