/**
 * A realm without a child: the built bundle in a vm context of the test's process, with a scripted host. For tests of
 * the realm alone; what the walls around it do is tested with real environments.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";
import { cutLibraries, type RealmPart, readRealmHead } from "#runner/child/realm-pack.ts";
import { ENCODED_BYTES } from "#runner/wire/realm-constants.ts";

export interface RealmMessage {
  jsonrpc?: "2.0";
  id?: number;
  method: string;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON, looked into by tests.
  params: any;
}

export interface RealmRun {
  /** Every message out, in order, as the text it was. */
  texts: string[];
  messages: RealmMessage[];
  end: RealmMessage["params"];
  stdout: string;
  stderr: string;
  /** The context's global object. */
  // biome-ignore lint/suspicious/noExplicitAny: any value of another realm.
  global: any;
}

export interface RealmOptions {
  limits?: Partial<Record<string, number>>;
  mappings?: string;
  sources?: string[] | undefined;
  files?: { name: string; size: number; contentType: string }[];
  allowWasm?: boolean;
  /** Answers a call: what it returns is the result, bytes are attached; what it throws is sent as `{name, message, code, status}`. */
  answer?: (message: RealmMessage, attachment: Buffer | null) => unknown;
  /** Given to the realm in place of the script's function. */
  mainInstead?: unknown;
  /** Sends each reply twice. */
  echoReplies?: boolean;
}

const pack = readFileSync(join(import.meta.dirname, "../../dist/runner/realm.bin"));
const head = readRealmHead((lengthBytes) => pack.subarray(0, lengthBytes));
const libraries = cutLibraries(pack, head);
const compile = ({ source }: RealmPart) =>
  new vm.Script(source.toString("latin1"), { filename: "cyrnel:realm" });
const core = compile(head.core);
const RUN_MS = 10_000;

const limits = {
  maxConcurrentCalls: 32,
  maxCalls: 10_000,
  maxMessageBytes: 1024 * 1024,
  maxStdoutBytes: 1024 * 1024,
  maxStderrBytes: 1024 * 1024,
  maxOutputBytes: 4 * 1024 * 1024,
  maxResultBytes: 4 * 1024 * 1024,
};

/** Runs the body of an async function (JavaScript) in a fresh realm, to its `end`. */
export function runBody(body: string, options: RealmOptions = {}): Promise<RealmRun> {
  return runCode(`(async () => {"use strict";\n${body}\n})`, options);
}

/** Runs an expression for an async function, as the host sends it. */
export async function runCode(code: string, options: RealmOptions = {}): Promise<RealmRun> {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
    codeGeneration: { strings: false, wasm: false },
  });
  const texts: string[] = [];
  const timers = new Map<number, NodeJS.Timeout | NodeJS.Immediate>();
  const ended = Promise.withResolvers<RealmMessage>();
  const receive = (text: string, main?: unknown): void => {
    realm.receive(text, main);
    setImmediate(() => realm.turn());
  };
  /** The result as JSON has it; the realm asks for bytes while it receives the reply. */
  const toResult = (result: unknown): unknown => {
    if (!(result instanceof Uint8Array)) return result ?? null;
    incoming = Buffer.from(result);
    return { bytes: result.length };
  };
  let incoming = Buffer.alloc(0);
  const waitedFor = new Map<number, () => unknown>();
  const pieces: Buffer[] = [];
  const emit = (text: string): string | undefined => {
    if (!text.startsWith("{")) {
      pieces.push(Buffer.from(text, "base64"));
      return undefined;
    }
    const message = JSON.parse(text) as RealmMessage;
    if (message.method === "take") {
      return incoming.toString("base64", message.params.at, message.params.at + ENCODED_BYTES);
    }
    if (message.method === "wait") {
      const { id } = message.params;
      const ask = waitedFor.get(id) as () => unknown;
      waitedFor.delete(id);
      return JSON.stringify({ jsonrpc: "2.0", id, result: toResult(ask()) });
    }
    if (message.method === "attach") return undefined;
    texts.push(text);
    if (message.method === "end") ended.resolve(message);
    if (message.id !== undefined) {
      const { id } = message;
      const attached = pieces.length === 0 ? null : Buffer.concat(pieces.splice(0));
      const ask = () => options.answer?.(message, attached);
      waitedFor.set(id, ask);
      // Unless the realm waits for it at once.
      queueMicrotask(() => waitedFor.delete(id) && void reply(message, ask));
    }
    if (message.method === "timer") {
      const { id, ms } = message.params;
      const due = () => receive(`{"method":"timer","params":{"id":${id}}}`);
      timers.set(id, ms === 0 ? setImmediate(due) : setTimeout(due, ms));
    }
    if (message.method === "clear") {
      const timer = timers.get(message.params.id);
      clearTimeout(timer as NodeJS.Timeout);
      clearImmediate(timer as NodeJS.Immediate);
    }
    return undefined;
  };
  const reply = async (message: RealmMessage, ask: () => unknown): Promise<void> => {
    try {
      const result = toResult(await ask());
      const text = JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
      receive(text);
      if (options.echoReplies) receive(text);
    } catch (error) {
      const data = Object.fromEntries(
        ["name", "message", "code", "status"].map((key) => [key, (error as Record<string, unknown>)[key]]),
      );
      receive(
        JSON.stringify({
          jsonrpc: "2.0",
          id: message.id,
          error: { code: -32000, message: data.message, data },
        }),
      );
    }
  };
  const load = (name: string) => compile(libraries[name] as RealmPart).runInContext(context);
  const realm = core.runInContext(context)(load)(emit, options.allowWasm);
  const onRejection = (reason: unknown) => realm.reject(reason);
  process.on("unhandledRejection", onRejection);
  const tooLong = setTimeout(
    () => ended.reject(new Error(`no end after ${RUN_MS} ms: ${texts.join("\n")}`)),
    RUN_MS,
  );
  try {
    const start = {
      code,
      mappings: options.mappings ?? "",
      ...(options.sources && { sources: options.sources }),
      ...(options.files && { files: options.files }),
      process: { id: 7, ref: null },
      seed: Buffer.alloc(32, 7).toString("base64"),
      randomSeed: [1, 2, 3, 4],
      readsWideClocks: true,
      limits: { ...limits, ...options.limits },
    };
    const main = new vm.Script(code, {
      filename: "script.ts",
      importModuleDynamically: ((specifier: string) => {
        throw realm.importError(specifier);
      }) as never,
    }).runInContext(context);
    receive(JSON.stringify({ jsonrpc: "2.0", method: "start", params: start }), options.mainInstead ?? main);
    const end = await ended.promise;
    const messages = texts.map((text) => JSON.parse(text) as RealmMessage);
    const join = (method: string) =>
      messages
        .filter((message) => message.method === method)
        .map((message) => message.params.text)
        .join("");
    return {
      texts,
      messages,
      end: end.params,
      stdout: join("stdout"),
      stderr: join("stderr"),
      global: context as never,
    };
  } finally {
    clearTimeout(tooLong);
    process.off("unhandledRejection", onRejection);
    for (const timer of timers.values()) {
      clearTimeout(timer as NodeJS.Timeout);
      clearImmediate(timer as NodeJS.Immediate);
    }
  }
}
