/**
 * Built-ins that the realm uses, captured before a script runs: the script may replace any of them without making the
 * realm emit a malformed message. Realm code must not call prototype methods, iterate (`for…of`, spread, array
 * patterns) or `await`, because all of these use objects that a script can change.
 */
type AnyFunction = (...args: never[]) => unknown;
type Uncurried<F> = F extends (this: infer T, ...args: infer A) => infer R
  ? (self: T, ...args: A) => R
  : never;

export const {
  BigInt: RealmBigInt,
  Date: RealmDate,
  Error: RealmError,
  Float64Array: RealmFloat64Array,
  Map: RealmMap,
  Promise: RealmPromise,
  Proxy: RealmProxy,
  RangeError: RealmRangeError,
  SyntaxError: RealmSyntaxError,
  TypeError: RealmTypeError,
  Int32Array: RealmInt32Array,
  Uint8Array: RealmUint8Array,
  WeakMap: RealmWeakMap,
} = globalThis;

const { bind, call } = Function.prototype;
/** Turns a method into a function that takes `this` first and that no script can replace. */
export const uncurry = bind.bind(call) as unknown as <F extends AnyFunction>(method: F) => Uncurried<F>;

export const {
  apply: ReflectApply,
  construct: ReflectConstruct,
  deleteProperty: ReflectDeleteProperty,
} = Reflect;
export const {
  create: ObjectCreate,
  defineProperty: ObjectDefineProperty,
  freeze: ObjectFreeze,
  getOwnPropertyDescriptor: ObjectGetOwnPropertyDescriptor,
  getOwnPropertySymbols: ObjectGetOwnPropertySymbols,
  getPrototypeOf: ObjectGetPrototypeOf,
  hasOwn: ObjectHasOwn,
  is: ObjectIs,
  keys: ObjectKeys,
} = Object;
export const { isArray: ArrayIsArray } = Array;
export const { parse: JSONParse, stringify: JSONStringify } = JSON;
export const JSONIsRawJSON = (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON;
export const {
  floor: MathFloor,
  imul: MathImul,
  max: MathMax,
  min: MathMin,
  round: MathRound,
  sqrt: MathSqrt,
  trunc: MathTrunc,
} = Math;
export const { isFinite: NumberIsFinite, isInteger: NumberIsInteger } = Number;
export const DateNow = Date.now;
export const StringOf = String;
export const ErrorIsError = (RealmError as unknown as { isError(value: unknown): value is Error }).isError;

export const dateToJSON: unknown = Date.prototype.toJSON;
export const dateToString = uncurry(Date.prototype.toString);
export const setFloat64s = uncurry(Float64Array.prototype.set);
const base64 = Uint8Array.prototype as Uint8Array & {
  setFromBase64(text: string): unknown;
  toBase64(): string;
};
export const setFromBase64 = uncurry(base64.setFromBase64);
export const toBase64 = uncurry(base64.toBase64);

export const ArrayPrototype = Array.prototype;
export const ObjectPrototype = Object.prototype;
export const NumberPrototype = Number.prototype;
export const StringPrototype = String.prototype;
export const BooleanPrototype = Boolean.prototype;
export const MapPrototype = Map.prototype;
export const SetPrototype = Set.prototype;
export const ArrayBufferPrototype = ArrayBuffer.prototype;
export const IteratorPrototype = ObjectGetPrototypeOf(ObjectGetPrototypeOf([].values()) as object) as object;
export const { toStringTag: SymbolToStringTag } = Symbol;

const TypedArrayPrototype = ObjectGetPrototypeOf(Uint8Array.prototype) as object;
const getterOf = <T>(prototype: object, key: PropertyKey) =>
  uncurry(ObjectGetOwnPropertyDescriptor(prototype, key)?.get as (this: object) => T);
/** Returns undefined for anything but a typed array. */
export const typedArrayKind = getterOf<string | undefined>(TypedArrayPrototype, SymbolToStringTag);
export const typedArrayLength = getterOf<number>(TypedArrayPrototype, "length");
export const arrayBufferLength = getterOf<number>(ArrayBufferPrototype, "byteLength");

export const charCodeAt = uncurry(String.prototype.charCodeAt);
export const indexOf = uncurry(String.prototype.indexOf) as (
  self: string,
  search: string,
  from?: number,
) => number;
export const slice = uncurry(String.prototype.slice);
export const repeat = uncurry(String.prototype.repeat);
export const isWellFormed = uncurry(String.prototype.isWellFormed);
export const padStart = uncurry(String.prototype.padStart);
export const padEnd = uncurry(String.prototype.padEnd);
export const regExpExec = uncurry(RegExp.prototype.exec);
export const symbolToString = uncurry(Symbol.prototype.toString);
export const numberValueOf = uncurry(Number.prototype.valueOf);
export const stringValueOf = uncurry(String.prototype.valueOf);
export const booleanValueOf = uncurry(Boolean.prototype.valueOf);

export const mapGet = uncurry(Map.prototype.get);
export const mapSet = uncurry(Map.prototype.set);
export const mapForEach = uncurry(Map.prototype.forEach);
export const setForEach = uncurry(Set.prototype.forEach);
export const mapDelete = uncurry(Map.prototype.delete);
export const weakMapGet = uncurry(WeakMap.prototype.get);
export const weakMapSet = uncurry(WeakMap.prototype.set);

export const promiseThen = uncurry(Promise.prototype.then);

/**
 * Reacts to a promise of the realm or of an async function in a way that no script can intercept: an own
 * `constructor` of undefined makes `then` use the realm's Promise instead of a species that the script chose.
 */
export function onSettled(
  promise: Promise<unknown>,
  resolved: (value: unknown) => void,
  rejected: (reason: unknown) => void,
): void {
  // biome-ignore lint/nursery/noFloatingPromises: only changes the promise.
  ObjectDefineProperty(promise, "constructor", { __proto__: null, value: undefined } as PropertyDescriptor);
  void promiseThen(promise, resolved, rejected);
}

/** Reads only own properties, so values that a script put on Object.prototype are not seen. */
export function own(object: object, key: string): unknown {
  return ObjectHasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}

/** Defines a property that is not enumerable, like those of built-ins. */
export function defineHidden(target: object, key: PropertyKey, value: unknown): void {
  ObjectDefineProperty(target, key, {
    __proto__: null,
    value,
    writable: true,
    configurable: true,
    enumerable: false,
  } as PropertyDescriptor);
}
