/** `cyrnel.files`, loaded on first use. */
import type { StartParams } from "../../../wire/protocol.ts";
import {
  checkName,
  createFileAccess,
  type FileAccess,
  type FileHost,
  type TextAccess,
} from "./file-access.ts";
import { type ContentHost, toContent } from "./file-content.ts";

/** Returns `access` for other libraries, `files` for `cyrnel.files`, and `saving` for answers that become files. */
export function createFileLibrary(host: FileHost, given: StartParams["files"]) {
  const { note, ...access } = createFileAccess(host, given);
  return { access, files: createFiles(access, host), saving: { checkName, note } };
}

function createFiles(access: FileAccess & TextAccess, host: ContentHost): object {
  const text = async (name: unknown) => {
    let all = "";
    for await (const piece of access.texts(toName("text", name))) all += piece;
    return all;
  };
  async function put(what: string, name: unknown, data: unknown, mode: "replace" | "append") {
    const to = toName(what, name);
    const content = toContent(`cyrnel.files.${what}`, data, host);
    if (typeof content === "string" || content instanceof Uint8Array) await access.write(to, content, mode);
    else await access.writePieces(`cyrnel.files.${what}`, to, content, mode);
    return access.stat(to);
  }
  return Object.freeze({
    async read(name: unknown, range?: unknown) {
      const { offset, length } = toRange(range);
      return access.read(toName("read", name), offset, length);
    },
    text,
    async json(name: unknown) {
      const content = await text(name);
      try {
        return host.parseJson(content, "cyrnel.files.json()");
      } catch (error) {
        throw new SyntaxError(`${JSON.stringify(name)} is no JSON: ${(error as Error).message}`);
      }
    },
    async *lines(name: unknown) {
      let rest = "";
      for await (const piece of access.texts(toName("lines", name))) {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() as string;
        for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
      }
      if (rest !== "") yield rest;
    },
    async list(prefix?: unknown) {
      const start = prefix === undefined ? "" : toName("list", prefix);
      return access.list().filter(({ name }) => name.startsWith(start));
    },
    async stat(name: unknown) {
      return access.find(toName("stat", name));
    },
    async exists(name: unknown) {
      return access.stat(toName("exists", name)) !== undefined;
    },
    async write(name: unknown, data: unknown) {
      return put("write", name, data, "replace");
    },
    async append(name: unknown, data: unknown) {
      return put("append", name, data, "append");
    },
    async remove(name: unknown) {
      await access.change({ do: "remove", name: toName("remove", name) });
    },
  });
}

function toName(what: string, name: unknown): string {
  if (typeof name === "string") return name.startsWith("./") ? name.slice(2) : name;
  throw new TypeError(
    `cyrnel.files.${what} expects the name of a file as text; found ${name === null ? "null" : typeof name}.`,
  );
}

function toRange(range: unknown): { offset: number; length: number } {
  const { offset = 0, length = Number.MAX_SAFE_INTEGER } = (range ?? {}) as {
    offset?: unknown;
    length?: unknown;
  };
  for (const value of [offset, length]) {
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
      throw new TypeError("cyrnel.files.read expects {offset?, length?} as whole numbers of bytes from 0.");
    }
  }
  return { offset: offset as number, length: length as number };
}
