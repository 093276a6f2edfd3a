import type { EnvironmentBindings, OpenStream, SaveTurn } from "#sdk";
import type { CallHandlers } from "./calls.ts";
import { type BodyFiles, createBodyFiles, fileCalls } from "./file-calls.ts";

type Params<M extends keyof CallHandlers> = Parameters<CallHandlers[M]>[0];
type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

export class RunCallHandlers implements CallHandlers {
  readonly #bindings: EnvironmentBindings;
  readonly #eid: number;
  #bodyFiles: BodyFiles | null = null;

  constructor(bindings: EnvironmentBindings, eid: number) {
    this.#bindings = bindings;
    this.#eid = eid;
  }

  async close(): Promise<void> {
    await this.#bodyFiles?.remove();
  }

  async invoke(
    call: Params<"invoke">,
    signal: AbortSignal,
    seq: number,
    _attachment: Buffer | null,
    saveTurn: SaveTurn,
    openStream: OpenStream,
  ): Promise<unknown> {
    const isFetch = call.serviceId === "fetch";
    if (isFetch) {
      this.#bodyFiles ??= createBodyFiles(this.#bindings, this.#eid);
      this.#bodyFiles.note(call);
    }
    return this.#bindings.invokeTool({
      ...defined(call),
      ...(call.saveAs !== undefined && { saveTurn }),
      ...(call.saveAs !== undefined && isFetch && { openStream }),
      eid: this.#eid,
      signal,
      seq,
    });
  }

  async discoverServices(query: Params<"discoverServices">): Promise<unknown> {
    return this.#bindings.discoverServices(defined(query), { eid: this.#eid });
  }

  async discoverTools(query: Params<"discoverTools">): Promise<unknown> {
    const tools = await this.#bindings.discoverTools(defined(query), { eid: this.#eid });
    return { tools, packages: tools.packages ?? [] };
  }

  async getService({ id }: Params<"getService">): Promise<unknown> {
    return this.#bindings.getService(id, { eid: this.#eid });
  }

  async getTool(id: Params<"getTool">): Promise<unknown> {
    return this.#bindings.getTool(id, { eid: this.#eid });
  }

  async getToolDocs(id: Params<"getToolDocs">): Promise<unknown> {
    return this.#bindings.getToolDocs(id, { eid: this.#eid });
  }

  async ask(question: Params<"ask">, signal: AbortSignal, seq: number): Promise<unknown> {
    return this.#bindings.ask(this.#eid, defined(question), { signal, seq });
  }

  readFile(range: Params<"readFile">): Promise<unknown> {
    return fileCalls.readFile(this.#bindings, this.#eid, range);
  }

  writeFile(
    piece: Params<"writeFile">,
    _signal: AbortSignal,
    _seq: number,
    bytes: Buffer | null,
  ): Promise<unknown> {
    this.#bodyFiles?.forget(piece.name);
    return fileCalls.writeFile(this.#bindings, this.#eid, piece, bytes);
  }

  removeFile(file: Params<"removeFile">): Promise<unknown> {
    return fileCalls.removeFile(this.#bindings, this.#eid, file);
  }

  copyFile(copy: Params<"copyFile">): Promise<unknown> {
    this.#bodyFiles?.forget(copy.to);
    return fileCalls.copyFile(this.#bindings, this.#eid, copy);
  }

  resizeFile(file: Params<"resizeFile">): Promise<unknown> {
    return fileCalls.resizeFile(this.#bindings, this.#eid, file);
  }
}

/** Removes undefined from the types of members: parsed JSON has none, though its schema's type allows it. */
function defined<T extends object>(value: T): Defined<T> {
  return value as Defined<T>;
}
