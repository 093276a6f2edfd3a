import { encodeJson, utf8Length } from "../json/encode.ts";
import { MAX_VALUE_DEPTH, run } from "../limits.ts";
import { failTooLarge } from "../outcome.ts";
import {
  ArrayIsArray,
  JSONParse,
  mapGet,
  mapSet,
  ObjectFreeze,
  ObjectGetPrototypeOf,
  ObjectKeys,
  ObjectPrototype,
  RealmError,
  RealmMap,
  RealmTypeError,
  StringOf,
} from "../primordials.ts";
import { quote, sendNotification } from "../sending.ts";
import { warnOfNull } from "../warnings.ts";
import { loadFiles } from "./call-files.ts";
import { ask, discoverServices, discoverTools, getService, getTool, getToolDocs } from "./discovery.ts";
import { servicesGlobal } from "./tools.ts";

/** Size of each key of the merged output with its value, in bytes. */
const outputSizes = new RealmMap<string, number>();
let outputBytes = 2;

/** Merges `given` into the run's output; later keys win. Emits nothing if it throws. */
function emitOutput(given: unknown): void {
  const data = toRecord(given);
  if (typeof data !== "object" || data === null || ArrayIsArray(data)) {
    const found = data === null ? "null" : ArrayIsArray(data) ? "an array" : `a ${typeof data}`;
    throw new RealmTypeError(`cyrnel.output expects an object, e.g. {total: 3}; found ${found}.`);
  }
  const { maxOutputBytes } = run.limits;
  const keys = ObjectKeys(data);
  let text = "";
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    const limits = {
      name: `output.${key}`,
      maxDepth: MAX_VALUE_DEPTH - 1,
      maxBytes: maxOutputBytes,
      onNull: warnOfNull,
    };
    const value = encodeJson((data as Record<string, unknown>)[key], limits);
    if (value.tooLarge) throw sizeError(value.bytes, maxOutputBytes);
    if (value.text === undefined) continue;
    const member = `${quote(key)}:${value.text}`;
    const bytes = utf8Length(member) + 1;
    outputBytes += bytes - ((mapGet(outputSizes, key) as number | undefined) ?? 0);
    mapSet(outputSizes, key, bytes);
    if (outputBytes > maxOutputBytes) throw sizeError(outputBytes, maxOutputBytes);
    text += text === "" ? member : `,${member}`;
  }
  sendNotification("output", `{"value":{${text}}}`);
}

/** Converts a map, or an instance with its own `toJSON`, to the object that its JSON contains. */
function toRecord(data: unknown): unknown {
  if (typeof data !== "object" || data === null || ArrayIsArray(data)) return data;
  const prototype = ObjectGetPrototypeOf(data);
  if (prototype === null || prototype === ObjectPrototype) return data;
  const limits = {
    name: "output",
    maxDepth: MAX_VALUE_DEPTH,
    maxBytes: run.limits.maxOutputBytes,
    onNull: warnOfNull,
  };
  const { text, bytes, tooLarge } = encodeJson(data, limits);
  if (tooLarge) throw sizeError(bytes, limits.maxBytes);
  return text === undefined ? data : JSONParse(text);
}

function sizeError(bytes: number, maxBytes: number): Error {
  failTooLarge("output", bytes, maxBytes);
  return new RealmError(`The output is larger than ${StringOf(maxBytes)} bytes.`);
}

/** `start` fills in `process` and the value that `input` returns. */
export function createCyrnel(): object {
  // Methods keep their names, while the bundler shortens those of functions.
  return ObjectFreeze({
    services: servicesGlobal,
    output(data: unknown): void {
      emitOutput(data);
    },
    discoverServices(query?: unknown): Promise<unknown> {
      return discoverServices(query);
    },
    discoverTools(query?: unknown): Promise<unknown> {
      return discoverTools(query);
    },
    getService(id: unknown): Promise<unknown> {
      return getService(id);
    },
    getTool(id: unknown): Promise<unknown> {
      return getTool(id);
    },
    getToolDocs(id: unknown): Promise<unknown> {
      return getToolDocs(id);
    },
    ask(request: unknown, options?: unknown): Promise<unknown> {
      return ask(request, options);
    },
    process: run.process,
    get files(): object {
      return loadFiles().files;
    },
    get input(): unknown {
      return run.input;
    },
  });
}
