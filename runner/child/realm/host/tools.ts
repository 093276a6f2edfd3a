/**
 * `tools` and `cyrnel.services`: recursive proxies that turn paths into calls. They cannot be enumerated and return
 * undefined for `then`, symbols and conversions, so awaiting or printing one makes no call.
 */

import { encodeJson } from "../json/encode.ts";
import { inspection, MAX_VALUE_DEPTH, run } from "../limits.ts";
import {
  ArrayIsArray,
  indexOf,
  ObjectHasOwn,
  own,
  RealmPromise,
  RealmProxy,
  RealmTypeError,
  ReflectDeleteProperty,
  slice,
} from "../primordials.ts";
import { quote } from "../sending.ts";
import { loadFiles } from "./call-files.ts";
import { type CallOptions, readOptions, TOOL_OPTIONS } from "./call-options.ts";
import { callHost } from "./calls.ts";
import { discoverTools, getTool } from "./discovery.ts";

const MAX_ID_CHARS = 500;
/** Longest path: a service, and up to 8 segments of a tool id (TOOL_ID_PATTERN of the SDK). */
const MAX_SEGMENTS = 9;

interface Path {
  parent: Path | null;
  name: string;
  length: number;
}

/** Engines call these to convert a node to a string, so they must not call a tool. */
const CONVERSIONS = { toString: true, toLocaleString: true, valueOf: true };

export function invokeTool(serviceId: string, toolId: string, args: unknown[]): Promise<unknown> {
  const name = `tools.${serviceId}.${toolId}`;
  let options: CallOptions = {};
  return callHost({
    method: "invoke",
    name,
    encode() {
      checkId("service", serviceId);
      checkId("tool", toolId);
      // Checks the length first, because a script may have put a value on Array.prototype.
      options = readOptions(name, TOOL_OPTIONS, args.length > 1 ? args[1] : undefined);
      const { saveAs } = options;
      if (saveAs !== undefined) loadFiles().saving.checkName(saveAs);
      const saving = saveAs === undefined ? "" : `,"saveAs":${quote(saveAs)}`;
      const throwing = options.throwOnError === false ? ',"throwOnError":false' : "";
      return `{"serviceId":${quote(serviceId)},"toolId":${quote(toolId)},"parameters":${encodeParameters(serviceId, toolId, args[0])}${saving}${throwing}}`;
    },
    read: (reply) => (options.saveAs === undefined ? reply : takeSaved(options.saveAs, reply)),
    signal: () => options.signal,
  });
}

/** `fetch` has no tool id: the host finds the rule that the request matches. */
const FETCH_PATH = '"serviceId":"fetch","toolId":""';

/**
 * Sends a request of `fetch`. `saveAs` names the file for a large response body; `onMade` receives a function that
 * aborts. Resolves with the response and the call's number.
 */
export function invokeFetch(
  request: object,
  saveAs: string,
  onMade: (abandon: () => void) => void,
): Promise<{ answer: unknown; call: number }> {
  const encode = () =>
    `{${FETCH_PATH},"parameters":${encodeParameters("fetch", "", request)},"saveAs":${quote(saveAs)}}`;
  const read = (reply: unknown, call: number) => ({ answer: takeSaved(saveAs, reply), call });
  return callHost({ method: "invoke", encode, read, onMade }) as Promise<{ answer: unknown; call: number }>;
}

/** A host that cannot save answers sends the answer itself as the reply. */
function takeSaved(name: string, reply: unknown): unknown {
  if (typeof reply !== "object" || reply === null || own(reply, "size") === undefined) return reply;
  const size = own(reply, "size");
  if (typeof size === "number") loadFiles().saving.note(name, { size });
  return own(reply, "answer");
}

function encodeParameters(serviceId: string, toolId: string, parameters: unknown): string {
  if (parameters === undefined) return "{}";
  if (typeof parameters !== "object" || parameters === null || ArrayIsArray(parameters)) {
    const found =
      parameters === null ? "null" : ArrayIsArray(parameters) ? "an array" : `a ${typeof parameters}`;
    throw new RealmTypeError(
      `tools.${serviceId}.${toolId} expects one object with its parameters; found ${found}.`,
    );
  }
  const limits = { name: "parameters", maxDepth: MAX_VALUE_DEPTH, maxBytes: run.limits.maxMessageBytes };
  const { text, bytes } = encodeJson(parameters, limits);
  if (text === undefined) {
    if (bytes === 0) return "{}";
    throw new RealmTypeError(
      `The parameters of tools.${serviceId}.${toolId} are ${bytes} bytes of JSON; at most ${run.limits.maxMessageBytes} are allowed (maxMessageBytes). Send less, or send it in parts.`,
    );
  }
  if (text[0] !== "{") {
    throw new RealmTypeError(
      `tools.${serviceId}.${toolId} expects one object with its parameters; found a value that JSON writes as something else.`,
    );
  }
  return text;
}

function checkId(what: string, id: string): void {
  if (id.length === 0 || id.length > MAX_ID_CHARS) {
    throw new RealmTypeError(`A ${what} id has 1 to ${MAX_ID_CHARS} characters; found ${id.length}.`);
  }
}

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

type Call = (path: Path | null, args: unknown[]) => unknown;

function createNode(path: Path | null, call: Call, describe: (path: Path | null) => string): object {
  // An arrow function without own properties is callable, and no proxy invariant restricts the traps.
  const target = () => {};
  ReflectDeleteProperty(target, "name");
  ReflectDeleteProperty(target, "length");
  return new RealmProxy(target, {
    __proto__: null,
    apply: (_target: unknown, _self: unknown, args: unknown[]) =>
      path !== null && ObjectHasOwn(CONVERSIONS, path.name) ? describe(path.parent) : call(path, args),
    get: (_target: unknown, key: string | symbol) => {
      if (typeof key === "symbol")
        return key === INSPECT && inspection.active ? () => `[${describe(path)}]` : undefined;
      // `await` and JSON look for these. No service can have such a name (api/components/services/model.ts).
      if (key === "then" || key === "toJSON" || key === "__proto__") return undefined;
      return createNode(
        { parent: path, name: key, length: path === null ? 1 : path.length + 1 },
        call,
        describe,
      );
    },
    has: () => false,
    ownKeys: () => [],
    getOwnPropertyDescriptor: () => undefined,
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  } as unknown as ProxyHandler<() => void>);
}

function rejectedCall(message: string): Promise<never> {
  return new RealmPromise((_resolve, reject) => reject(new RealmTypeError(message)));
}

function describeTools(path: Path | null): string {
  let text = "";
  for (let step = path; step !== null; step = step.parent) text = `.${step.name}${text}`;
  return `tools${text}`;
}

function joinFrom(path: Path, length: number): string {
  let text = path.name;
  for (let step = path.parent; step !== null && step.length >= length; step = step.parent) {
    text = `${step.name}.${text}`;
  }
  return text;
}

function firstName(path: Path): string {
  let first = path;
  while (first.parent !== null) first = first.parent;
  return first.name;
}

function callTools(path: Path | null, args: unknown[]): unknown {
  if (path !== null && path.parent !== null && path.length <= MAX_SEGMENTS) {
    if (path.length === 2 && path.parent.name === "describe" && path.name === "tool") {
      return describeTool(args[0]);
    }
    return invokeTool(firstName(path), joinFrom(path, 2), args);
  }
  if (path !== null && path.length === 1 && path.name === "search") return discoverTools(args[0]);
  return rejectedCall(
    `${describeTools(path)} is not a tool: call tools.<service>.<tool>(parameters); tools.search({query}) lists them.`,
  );
}

function describeTool(input: unknown): Promise<unknown> {
  const path = typeof input === "object" && input !== null ? (input as { path?: unknown }).path : input;
  const dot = typeof path === "string" ? indexOf(path, ".") : -1;
  if (typeof path !== "string" || dot < 1) {
    return rejectedCall('tools.describe.tool expects {path: "service.tool"}.');
  }
  return getTool({ serviceId: slice(path, 0, dot), toolId: slice(path, dot + 1) });
}

function describeServices(path: Path | null): string {
  let text = "";
  for (let step = path; step !== null; step = step.parent) text = `.${step.name}${text}`;
  return `cyrnel.services${text}`;
}

function callServices(path: Path | null, args: unknown[]): unknown {
  const tool = path?.parent;
  if (path?.name === "invoke" && tool && path.length >= 4 && path.length <= MAX_SEGMENTS + 2) {
    let second = tool;
    while (second.length > 2 && second.parent !== null) second = second.parent;
    if (second.name === "tools") return invokeTool(firstName(path), joinFrom(tool, 3), args);
  }
  return rejectedCall(
    `${describeServices(path)} cannot be called: call cyrnel.services.<service>.tools.<tool>.invoke(parameters).`,
  );
}

export const toolsGlobal = createNode(null, callTools, describeTools);
export const servicesGlobal = createNode(null, callServices, describeServices);
