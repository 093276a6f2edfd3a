/**
 * A real workspace behind the hostile child, and beside it what its files must be by now, kept a second time and by hand: names
 * and bytes in a map. A conversation makes it go wrong in every order it can; nothing may be in it that was not written.
 */
import { setTimeout } from "node:timers/promises";
import type { CallHandlers } from "#runner/host/calls/calls.ts";
import { fileCalls } from "#runner/host/calls/file-calls.ts";
import { readWhole, type StoredFile, Workspace } from "#runner/workspace/workspace.ts";
import type { EnvironmentBindings, FileWrite, SaveTurn } from "#sdk";
import { mayNameAFile } from "../name-fuzz/names.ts";
import type { Prng } from "./prng.ts";

/** What the run was given. The store behind the last one is gone. */
export const GIVEN_NAMES = ["in/given.txt", "in/empty", "in/lost.bin"] as const;
const GIVEN_BYTES = 300_000;
const REFUSALS: readonly unknown[] = ["file_not_found", "invalid_file_name"];

export interface HostileWorkspace {
  answer: Pick<CallHandlers, "readFile" | "writeFile" | "removeFile" | "invoke">;
  /** After the end of the run: judges what is left, and closes it. */
  finish(): Promise<void>;
}

export function createHostileWorkspace(prng: Prng, report: (fault: string | null) => void): HostileWorkspace {
  const maxBytes = prng.pick([1_000, 400_000, 64 * 1024 * 1024]);
  const maxFiles = prng.pick([3, 1_000]);
  const workspace = new Workspace({ files: given(), maxBytes, maxFiles });
  const expected = new Map([
    ["in/given.txt", Buffer.alloc(GIVEN_BYTES, "g")],
    ["in/empty", Buffer.alloc(0)],
  ]);
  /** Names of which nothing is known: an answer is saved as one at a moment that is not seen from here. */
  const unknown = new Set(["in/lost.bin"]);
  const pieces = new Map<number, { name: string; data: Buffer[] }>();
  const saves: Promise<unknown>[] = [];
  let isFull = false;
  let isOver = false;

  function refused(what: string, error: unknown): never {
    const { name, code } = error as { name?: unknown; code?: unknown };
    if (name === "WorkspaceLimitError") isFull = true;
    else if (!REFUSALS.includes(code) && !isOver && !/is lost$/.test(String(error)))
      report(`${what}: ${error}`);
    throw error;
  }

  const bindings = {
    async readFile(_eid: number, { name, offset, length }: { name: string; offset: number; length: number }) {
      const bytes = await workspace.read(name, offset, length).catch((error) => refused("a read", error));
      if (bytes.length > length) report(`${bytes.length} bytes were read of ${length}`);
      if (!mayNameAFile(name)) report(`${JSON.stringify(name)} was read`);
      return bytes;
    },
    async writeFile(_eid: number, write: FileWrite) {
      const answer = await workspace.write(write).catch((error) => {
        // A last piece for which there is no room takes those before with it.
        if (!write.more && pieces.get(write.write)?.name === write.name) pieces.delete(write.write);
        return refused("a write", error);
      });
      note(write, answer.size);
      return answer;
    },
    async removeFile(_eid: number, { name }: { name: string }) {
      await workspace.remove(name).catch((error) => refused("a removal", error));
      expected.delete(name);
    },
  } as unknown as EnvironmentBindings;

  /** Writes are done one after another, so what they come to is known when each is answered. */
  function note({ name, data, mode, more, write }: FileWrite, size: number): void {
    if (!mayNameAFile(name)) report(`${JSON.stringify(name)} was written`);
    const begun = pieces.get(write) ?? { name, data: [] };
    if (begun.name !== name) report("the pieces of one write name two files");
    pieces.set(write, begun);
    begun.data.push(Buffer.from(data));
    if (more && mode !== "discard") return;
    pieces.delete(write);
    if (mode === "discard" || unknown.has(name)) return;
    const before = expected.get(name);
    const content = Buffer.concat(
      mode === "append" && before !== undefined ? [before, ...begun.data] : begun.data,
    );
    if (content.length !== size) report(`a file of ${content.length} bytes is said to have ${size}`);
    expected.set(name, content);
  }

  /** An answer in pieces that come late, end early or are none. */
  async function* answerBytes(): AsyncGenerator<Uint8Array> {
    for (let count = prng.int(4); count > 0; count--) {
      if (prng.chance(0.3)) await setTimeout(0);
      if (prng.chance(0.1)) throw new Error("the answer is lost");
      yield Buffer.alloc(prng.pick([0, 1, 900, 70_000]), "s");
    }
  }

  async function save(name: string, turn: SaveTurn): Promise<{ answer: unknown; size: number }> {
    unknown.add(name);
    const saved = workspace.save(name, answerBytes(), turn);
    saves.push(saved.catch(() => {}));
    const { size } = await saved.catch((error) => refused("an answer", error));
    if (!mayNameAFile(name)) report(`an answer was saved as ${JSON.stringify(name)}`);
    return { answer: { file: name, size }, size };
  }

  return {
    answer: {
      readFile: (params) => fileCalls.readFile(bindings, 0, params),
      writeFile: (params, _signal, _seq, bytes) => fileCalls.writeFile(bindings, 0, params, bytes),
      removeFile: (params) => fileCalls.removeFile(bindings, 0, params),
      invoke: async ({ parameters, saveAs }, _signal, _seq, _bytes, turn) =>
        saveAs === undefined ? parameters : save(saveAs, turn),
    },
    async finish() {
      isOver = true;
      await Promise.all(saves);
      // Behind everything that was asked for.
      await workspace.remove("/").catch(() => {});
      await judge(workspace.artifacts());
      await workspace[Symbol.asyncDispose]();
    },
  };

  async function judge(artifacts: StoredFile[]): Promise<void> {
    const bytes = artifacts.reduce((sum, { size }) => sum + size, 0);
    if (!isFull && (bytes > maxBytes || artifacts.length > maxFiles))
      report(`${artifacts.length} artifacts of ${bytes} bytes`);
    const names = artifacts.map(({ name }) => name);
    if (new Set(names).size !== names.length) report("two artifacts have one name");
    for (const file of artifacts) {
      if (!mayNameAFile(file.name)) report(`an artifact ${JSON.stringify(file.name)}`);
      if (names.some((other) => other.startsWith(`${file.name}/`))) report(`${file.name} is a folder too`);
      if (unknown.has(file.name) || isFull) continue;
      const read: Buffer[] = [];
      for await (const piece of readWhole(file)) read.push(piece);
      const left = Buffer.concat(read);
      if (!expected.get(file.name)?.equals(left))
        report(`${JSON.stringify(file.name)} is not what was written`);
    }
  }
}

function given(): StoredFile[] {
  const contents = [Buffer.alloc(GIVEN_BYTES, "g"), Buffer.alloc(0)];
  return GIVEN_NAMES.map((name, index) => {
    const content = contents[index];
    const read: StoredFile["read"] = async (offset, length) => {
      if (content === undefined) throw new Error("the content is lost");
      return content.subarray(offset, offset + length);
    };
    return { name, size: content?.length ?? 1_000, contentType: "text/plain", read };
  });
}
