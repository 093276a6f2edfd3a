/**
 * Removes what the child's host realm no longer needs after its boot. Not the sandbox itself: it makes sure that an
 * escape from the script's realm leads nowhere.
 */

const SCOPES = ["fs.read", "fs.write", "child", "worker", "net", "addon", "wasi", "inspector", "ffi"];

/** ECMAScript globals, which the child's own code uses. None gives access outside the process. */
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
 * Prototypes of host errors. If the stack is full, V8 calls a Node function (to format a stack or, with `allowEval`,
 * for `import()`) and passes the RangeError of that call, an object of the host realm, to the script.
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

/** Removes constructors, methods and file names, so that an error of the host realm gives access to nothing else. */
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

// Captured before the host realm is emptied, which removes `process`.
const { permission } = process as unknown as {
  permission?: { has(scope: string): boolean; drop?(scope: string): void };
};

/** Drops all Node permissions. Returns whether all are gone. */
export function dropPermissions(): boolean {
  return drop(SCOPES);
}

function drop(scopes: readonly string[]): boolean {
  for (const scope of scopes) permission?.drop?.(scope);
  return SCOPES.every((scope) => permission?.has(scope) === false);
}

/** Empties the global object and the prototypes of errors. Returns whether both are empty. */
function emptyHost(): boolean {
  let isEmpty = true;
  for (const key of Reflect.ownKeys(globalThis)) {
    if (typeof key === "string" && !LANGUAGE.has(key) && !Reflect.deleteProperty(globalThis, key))
      isEmpty = false;
  }
  return emptyPrototypes() && isEmpty;
}

/** Drops all Node permissions and empties the host realm. Returns whether that worked. */
export function lockDown(): boolean {
  const isDropped = dropPermissions();
  return emptyHost() && isDropped;
}

/** Does the part of `lockDown` that is possible in a zygote, which needs FFI. Returns the rest, for its forks. */
export function lockDownZygote(): () => boolean {
  drop(SCOPES.filter((scope) => scope !== "ffi"));
  const isEmpty = emptyHost();
  return () => drop(["ffi"]) && isEmpty;
}
