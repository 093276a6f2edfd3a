/** Deep equality as defined by `node:assert` and `util.isDeepStrictEqual`. */
type Pairs = Map<object, Set<object>>;

const tagOf = (value: unknown): string => Object.prototype.toString.call(value);
const bytesOf = (view: ArrayBufferView) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** With `strict`, compares by `Object.is`, and also prototypes and types. Otherwise compares primitives by `==`. */
export function isDeepEqual(one: unknown, other: unknown, strict: boolean, seen: Pairs = new Map()): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
    if (strict || typeof one === "function" || typeof other === "function") return false;
    if ((one === null || typeof one !== "object") && (other === null || typeof other !== "object")) {
      // biome-ignore lint/suspicious/noDoubleEquals: loose equality is defined this way.
      return one == other || (Number.isNaN(one) && Number.isNaN(other));
    }
    return false;
  }
  if (strict && Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (tagOf(one) !== tagOf(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  // A pair that is already being compared counts as equal; any difference is found elsewhere.
  const before = seen.get(one);
  if (before?.has(other)) return true;
  if (before === undefined) seen.set(one, new Set([other]));
  else before.add(other);
  return isSameInside(one, other, strict, seen) && hasSameKeys(one, other, strict, seen);
}

function isSameInside(one: object, other: object, strict: boolean, seen: Pairs): boolean {
  if (one instanceof Date && other instanceof Date) return Object.is(one.getTime(), other.getTime());
  if (one instanceof RegExp && other instanceof RegExp)
    return String(one) === String(other) && one.lastIndex === other.lastIndex;
  if (one instanceof Error && other instanceof Error) {
    if (one.message !== other.message || one.name !== other.name) return false;
    return isDeepEqual(one.cause, other.cause, strict, seen);
  }
  if (
    one instanceof Number ||
    one instanceof String ||
    one instanceof Boolean ||
    one instanceof BigInt ||
    one instanceof Symbol
  ) {
    return Object.is(one.valueOf(), (other as typeof one).valueOf());
  }
  if (ArrayBuffer.isView(one) && ArrayBuffer.isView(other)) {
    const [a, b] = [bytesOf(one), bytesOf(other)];
    return a.length === b.length && a.every((byte, index) => byte === b[index]);
  }
  if (one instanceof ArrayBuffer && other instanceof ArrayBuffer) {
    return isSameInside(new Uint8Array(one), new Uint8Array(other), strict, seen);
  }
  if (one instanceof Set && other instanceof Set) return isSameSet(one, other, strict, seen);
  if (one instanceof Map && other instanceof Map) return isSameMap(one, other, strict, seen);
  return true;
}

function isSameSet(one: Set<unknown>, other: Set<unknown>, strict: boolean, seen: Pairs): boolean {
  if (one.size !== other.size) return false;
  const rest = [...other].filter((value) => !one.has(value));
  for (const value of one) {
    if (other.has(value)) continue;
    const index = rest.findIndex((candidate) => isDeepEqual(value, candidate, strict, new Map(seen)));
    if (index === -1) return false;
    rest.splice(index, 1);
  }
  return true;
}

function isSameMap(
  one: Map<unknown, unknown>,
  other: Map<unknown, unknown>,
  strict: boolean,
  seen: Pairs,
): boolean {
  if (one.size !== other.size) return false;
  const rest = [...other].filter(([key]) => !one.has(key));
  for (const [key, value] of one) {
    if (other.has(key)) {
      if (!isDeepEqual(value, other.get(key), strict, seen)) return false;
      continue;
    }
    const index = rest.findIndex(
      ([candidate, held]) =>
        isDeepEqual(key, candidate, strict, new Map(seen)) && isDeepEqual(value, held, strict, new Map(seen)),
    );
    if (index === -1) return false;
    rest.splice(index, 1);
  }
  return true;
}

function hasSameKeys(one: object, other: object, strict: boolean, seen: Pairs): boolean {
  if (ArrayBuffer.isView(one)) return true;
  const keys = keysOf(one, strict);
  if (keys.length !== keysOf(other, strict).length) return false;
  if (Array.isArray(one) && one.length !== (other as unknown[]).length) return false;
  return keys.every(
    (key) =>
      Object.prototype.propertyIsEnumerable.call(other, key) &&
      isDeepEqual(one[key as never], other[key as never], strict, seen),
  );
}

function keysOf(value: object, strict: boolean): PropertyKey[] {
  if (!strict) return Object.keys(value);
  const symbols = Object.getOwnPropertySymbols(value);
  return [
    ...Object.keys(value),
    ...symbols.filter((key) => Object.prototype.propertyIsEnumerable.call(value, key)),
  ];
}
