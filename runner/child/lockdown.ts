/**
 * Takes away what the host realm of the child no longer needs once it has booted. Not the wall: it makes a way out of
 * the script's realm lead to a bare place.
 */

/** Everything Node's permission model can take away. */
const SCOPES = ["fs.read", "fs.write", "child", "worker", "net", "addon", "wasi", "inspector", "ffi"];

/** What ECMAScript itself defines; the child's own code uses some of it, and none of it reaches out of the process. */
const LANGUAGE = new Set(
  (
    "Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp " +
    "Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError globalThis JSON Math Intl " +
    "ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array BigUint64Array BigInt64Array " +
    "Uint8ClampedArray Float32Array Float64Array DataView Map BigInt Set Iterator WeakMap WeakSet WeakRef Proxy Reflect " +
    "decodeURI decodeURIComponent encodeURI encodeURIComponent isFinite isNaN"
  ).split(" "),
);

/**
 * What an error of the host realm inherits. Where the stack is full, V8 calls a function of Node (to format a stack, with
 * `allowEval` to answer `import()`) and hands the RangeError of that call to the script: an object of the host realm.
 */
const INHERITED_BY_ERRORS = [
  Object,
  Function,
  Error,
  AggregateError,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
];

/** Takes every way from an error of the host realm to anything else: no constructor, no method, no file name, nothing to change. */
function emptyPrototypes(): boolean {
  let isEmpty = true;
  Error.stackTraceLimit = 0;
  for (const { prototype } of INHERITED_BY_ERRORS) {
    for (const key of Reflect.ownKeys(prototype)) {
      if (typeof key === "string" && !Reflect.deleteProperty(prototype, key)) isEmpty = false;
    }
    Object.freeze(prototype);
  }
  return isEmpty;
}

// Kept from before the host realm is emptied, which takes `process` away.
const { permission } = process as unknown as {
  permission?: { has(scope: string): boolean; drop?(scope: string): void };
};

/** Gives up every permission of Node for good. Answers whether all are gone. */
export function dropPermissions(): boolean {
  return drop(SCOPES);
}

function drop(scopes: readonly string[]): boolean {
  for (const scope of scopes) permission?.drop?.(scope);
  return SCOPES.every((scope) => permission?.has(scope) === false);
}

/** Empties the global object and what errors inherit. Answers whether both are empty. */
function emptyHost(): boolean {
  let isEmpty = true;
  for (const key of Reflect.ownKeys(globalThis)) {
    if (typeof key === "string" && !LANGUAGE.has(key) && !Reflect.deleteProperty(globalThis, key))
      isEmpty = false;
  }
  return emptyPrototypes() && isEmpty;
}

/** Gives up every permission and empties the host realm. Answers whether all is so. */
export function lockDown(): boolean {
  const isDropped = dropPermissions();
  return emptyHost() && isDropped;
}

/** The part of `lockDown` that a zygote can do, which needs FFI; answers the rest of it, for its forks. */
export function lockDownZygote(): () => boolean {
  drop(SCOPES.filter((scope) => scope !== "ffi"));
  const isEmpty = emptyHost();
  return () => drop(["ffi"]) && isEmpty;
}
