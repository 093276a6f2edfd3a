/** `node:util`: Node's inspector, and small functions for callbacks, types and text. */
const { inspector } = require("../printing/format.ts") as typeof import("../printing/format.ts");
const { isDeepEqual } = require("./equality.ts") as typeof import("./equality.ts");

// biome-ignore lint/suspicious/noExplicitAny: the script's functions take any arguments.
type Function = (...args: any[]) => any;

const custom = Symbol.for("nodejs.util.promisify.custom");

function promisify(original: Function): Function {
  if (typeof original !== "function") {
    throw Object.assign(new TypeError('The "original" argument must be of type function.'), {
      code: "ERR_INVALID_ARG_TYPE",
    });
  }
  const own = (original as unknown as Record<symbol, unknown>)[custom];
  if (typeof own === "function") return own as Function;
  function promisified(this: unknown, ...args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      Reflect.apply(original, this, [
        ...args,
        (error: unknown, value: unknown) => (error ? reject(error) : resolve(value)),
      ]);
    });
  }
  Object.setPrototypeOf(promisified, Object.getPrototypeOf(original));
  return Object.defineProperties(promisified, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = custom;

function callbackify(original: Function): Function {
  return function callbackified(this: unknown, ...args: unknown[]): void {
    const callback = args.pop() as Function;
    (Reflect.apply(original, this, args) as Promise<unknown>).then(
      (value) => queueMicrotask(() => callback(null, value)),
      (error) =>
        queueMicrotask(() =>
          callback(
            error ?? Object.assign(new Error("Promise was rejected with a falsy value"), { reason: error }),
          ),
        ),
    );
  };
}

function deprecate(original: Function, message: string): Function {
  let isTold = false;
  return function deprecated(this: unknown, ...args: unknown[]): unknown {
    if (!isTold) console.warn(`DeprecationWarning: ${message}`);
    isTold = true;
    return Reflect.apply(original, this, args);
  };
}

function inherits(constructor: Function, parent: Function): void {
  Object.defineProperty(constructor, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);
const TAGGED =
  "Date RegExp Map Set WeakMap WeakSet WeakRef Promise ArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array Float64Array BigInt64Array BigUint64Array".split(
    " ",
  );
const instances: Record<string, (value: unknown) => boolean> = Object.fromEntries(
  TAGGED.map((name) => {
    const constructor = globalThis[name as never] as unknown as new () => object;
    return [
      `is${name}`,
      (value: unknown) => typeof constructor === "function" && value instanceof constructor,
    ];
  }),
);

const types = {
  ...instances,
  isAnyArrayBuffer: (value: unknown) => value instanceof ArrayBuffer,
  isArrayBufferView: (value: unknown) => ArrayBuffer.isView(value),
  isTypedArray: (value: unknown) => ArrayBuffer.isView(value) && !(value instanceof DataView),
  isAsyncFunction: (value: unknown) => typeof value === "function" && /^Async/.test(tagOf(value)),
  isGeneratorFunction: (value: unknown) =>
    typeof value === "function" && /GeneratorFunction$/.test(tagOf(value)),
  isGeneratorObject: (value: unknown) => tagOf(value) === "Generator",
  isNativeError: (value: unknown) =>
    (Error as unknown as { isError(value: unknown): boolean }).isError(value),
  isBoxedPrimitive: (value: unknown) =>
    typeof value === "object" &&
    value !== null &&
    /^(?:Number|String|Boolean|BigInt|Symbol)$/.test(tagOf(value)),
  isNumberObject: (value: unknown) => value instanceof Number,
  isStringObject: (value: unknown) => value instanceof String,
  isBooleanObject: (value: unknown) => value instanceof Boolean,
  isMapIterator: (value: unknown) => tagOf(value) === "Map Iterator",
  isSetIterator: (value: unknown) => tagOf(value) === "Set Iterator",
  isModuleNamespaceObject: (value: unknown) => tagOf(value) === "Module",
  isSharedArrayBuffer: () => false,
  isProxy: () => false,
  isExternal: () => false,
  isKeyObject: () => false,
};

const COLORS: Record<string, [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  black: [30, 39],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
  white: [37, 39],
  gray: [90, 39],
};

function styleText(style: string | string[], text: string): string {
  return [style].flat().reduceRight((styled, name) => {
    const [on, off] = Object.hasOwn(COLORS, name) ? (COLORS[name] as [number, number]) : [0, 0];
    return `\u001b[${on}m${styled}\u001b[${off}m`;
  }, text);
}

interface OptionConfig {
  type: "string" | "boolean";
  short?: string;
  multiple?: boolean;
  default?: unknown;
}

/** Parses the given command line arguments; a script has none of its own. */
function parseArgs({
  args = [],
  options = {},
  strict = true,
  allowPositionals = !strict,
}: {
  args?: string[];
  options?: Record<string, OptionConfig>;
  strict?: boolean;
  allowPositionals?: boolean;
} = {}) {
  const values: Record<string, unknown> = Object.create(null);
  const positionals: string[] = [];
  const rest = [...args];
  const refuse = (message: string) => {
    throw Object.assign(new TypeError(message), { code: "ERR_PARSE_ARGS" });
  };
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === "--") {
      positionals.push(...rest);
      break;
    }
    const [, dashes, body = "", , inline] = /^(--?)([^=]+)(=([\s\S]*))?$/.exec(arg) ?? [];
    if (dashes === undefined) {
      if (!allowPositionals) refuse(`Unexpected argument '${arg}'.`);
      positionals.push(arg);
      continue;
    }
    const name =
      dashes === "--" ? body : (Object.keys(options).find((key) => options[key]?.short === body) ?? body);
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined && strict) refuse(`Unknown option '${arg}'.`);
    const value = option?.type === "string" ? (inline ?? rest.shift()) : (inline ?? true);
    if (option?.type === "string" && value === undefined) refuse(`Option '${arg}' needs a value.`);
    if (option?.multiple) values[name] = [...((values[name] as unknown[]) ?? []), value];
    else values[name] = value;
  }
  for (const [name, option] of Object.entries(options)) {
    if (option.default !== undefined && !(name in values)) values[name] = option.default;
  }
  return { values, positionals };
}

const { inspect, format, formatWithOptions, stripVTControlCharacters } = inspector;

export const util = {
  inspect,
  format,
  formatWithOptions,
  stripVTControlCharacters,
  promisify,
  callbackify,
  deprecate,
  inherits,
  types,
  isDeepStrictEqual: (one: unknown, other: unknown) => isDeepEqual(one, other, true),
  isArray: Array.isArray,
  isError: types.isNativeError,
  debuglog: () => Object.assign(() => {}, { enabled: false }),
  debug: () => Object.assign(() => {}, { enabled: false }),
  styleText,
  parseArgs,
  toUSVString: (text: unknown) => String(text).toWellFormed(),
  aborted: (signal: AbortSignal) =>
    new Promise<void>((resolve) =>
      signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true }),
    ),
  get TextEncoder() {
    return globalThis.TextEncoder;
  },
  get TextDecoder() {
    return globalThis.TextDecoder;
  },
};
