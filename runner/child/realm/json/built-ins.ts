/**
 * Reads built-in collections without calling methods that a script can replace. The only script code it can run is
 * proxy traps.
 */

import {
  ArrayBufferPrototype,
  arrayBufferLength,
  IteratorPrototype,
  MapPrototype,
  mapForEach,
  ObjectDefineProperty,
  ObjectGetPrototypeOf,
  RealmUint8Array,
  SetPrototype,
  setForEach,
  typedArrayKind,
  typedArrayLength,
} from "../primordials.ts";

const MAX_PROTOTYPES = 100;

export interface List {
  values: ArrayLike<unknown>;
  length: number;
}

/** Entries of a map that has only string keys. */
export interface Entries extends List {
  keys: unknown[];
}

/** Returns the entries or items of a map, set, typed array or ArrayBuffer, or null for any other value. */
export function readCollection(value: object, prototype: object): List | Entries | null {
  if (typedArrayKind(value) !== undefined) {
    return { values: value as Uint8Array, length: typedArrayLength(value as Uint8Array) };
  }
  const kind = findBuiltIn(prototype);
  if (kind === null || kind === IteratorPrototype) return null;
  try {
    if (kind === MapPrototype) return readMap(value as Map<unknown, unknown>);
    if (kind === SetPrototype) return readSet(value as Set<unknown>);
    // Throws if the value is not an ArrayBuffer, before the constructor would iterate it.
    arrayBufferLength(value as ArrayBuffer);
    const bytes = new RealmUint8Array(value as ArrayBuffer);
    return { values: bytes, length: typedArrayLength(bytes) };
  } catch {
    // It has the prototype but is not an instance.
    return null;
  }
}

function readMap(map: Map<unknown, unknown>): List | Entries {
  const keys: unknown[] = [];
  const values: unknown[] = [];
  const pairs: unknown[] = [];
  let length = 0;
  let allText = true;
  mapForEach(map, (value, key) => {
    if (typeof key !== "string") allText = false;
    defineItem(keys, length, key);
    defineItem(values, length, value);
    length++;
  });
  if (allText) return { keys, values, length };
  for (let index = 0; index < length; index++) defineItem(pairs, index, [keys[index], values[index]]);
  return { values: pairs, length };
}

function readSet(set: Set<unknown>): List {
  const values: unknown[] = [];
  let length = 0;
  setForEach(set, (value) => defineItem(values, length++, value));
  return { values, length };
}

function defineItem(list: unknown[], index: number, value: unknown): void {
  // An assignment could call a setter that the script defined on Array.prototype.
  ObjectDefineProperty(list, index, {
    __proto__: null,
    value,
    writable: true,
    configurable: true,
    enumerable: true,
  } as PropertyDescriptor);
}

/** Returns the built-in prototype that the value may be an instance of, or null. */
export function findBuiltIn(prototype: object): object | null {
  let found: object | null = prototype;
  for (let count = 0; found !== null && count < MAX_PROTOTYPES; count++) {
    if (
      found === MapPrototype ||
      found === SetPrototype ||
      found === IteratorPrototype ||
      found === ArrayBufferPrototype
    ) {
      return found;
    }
    found = ObjectGetPrototypeOf(found);
  }
  return null;
}
