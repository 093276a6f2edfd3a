/** Web IDL for the classes in this folder: conversion of arguments, and the shape of prototypes. */

// biome-ignore lint/suspicious/noExplicitAny: constructors take any arguments.
type Class = (abstract new (...args: any[]) => object) & { prototype: object };

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

interface InspectOptions {
  depth?: number | null;
}
export type Inspect = (value: unknown, options?: object) => string;

/** @throws TypeError for a symbol */
export function toUSVString(value: unknown): string {
  return `${value as string}`.toWellFormed();
}

/** Converts to a string of bytes, one per character. @throws TypeError for characters above U+00FF */
export function toByteString(value: unknown, what: string): string {
  const text = `${value as string}`;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 255) {
      throw new TypeError(
        `${what} cannot be sent: the character at index ${index} has the value ${unit}; the highest allowed is 255.`,
      );
    }
  }
  return text;
}

export function needArguments(found: number, needed: number, what: string): void {
  if (found >= needed) return;
  throw new TypeError(
    `${what}: ${needed} argument${needed === 1 ? "" : "s"} required, but only ${found} present.`,
  );
}

export function toEnum<T extends string>(value: unknown, allowed: readonly T[], what: string): T {
  const text = `${value as string}`;
  if ((allowed as readonly string[]).includes(text)) return text as T;
  throw new TypeError(`${what} must be one of ${allowed.join(", ")}; found ${JSON.stringify(text)}.`);
}

export function toDictionary(value: unknown, what: string): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" || typeof value === "function") return value as Record<string, unknown>;
  throw new TypeError(`${what} expects an object; found ${typeof value}.`);
}

/** Makes members enumerable and restores the names that the bundler shortens. */
export function finishClass(target: Class, name: string, { length = 0 } = {}): void {
  define(target, "name", name);
  define(target, "length", length);
  define(target.prototype, Symbol.toStringTag, name);
  for (const object of [target, target.prototype]) {
    for (const key of Object.getOwnPropertyNames(object)) {
      if (["name", "length", "prototype", "constructor"].includes(key)) continue;
      Object.defineProperty(object, key, { enumerable: true });
    }
  }
}

export function finishMethods(prototype: object, members: object): void {
  Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(members));
}

/** Makes the inspector show an instance as `Name { … }` with the members of `fields`. */
export function showAs<T>(target: { prototype: T }, name: string, fields: (self: T) => object): void {
  define(
    target.prototype as object,
    INSPECT,
    function (this: T, depth: number, options: InspectOptions, inspect: Inspect) {
      if (depth < 0) return `[${name}]`;
      const left = options.depth === null || options.depth === undefined ? options.depth : options.depth - 1;
      return `${name} ${inspect(fields(this), { ...options, depth: left })}`;
    },
  );
}

export function define(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: typeof key !== "symbol", configurable: true });
  if (key === "name" || key === "length") Object.defineProperty(target, key, { writable: false });
}

type Pair = readonly [string, unknown];

const IteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([].values())) as object;

/**
 * Adds `entries`, `keys`, `values` and `forEach`, which observe changes during iteration. `pairsOf` throws if the
 * receiver is not an instance.
 */
export function makeIterable<T extends object>(
  target: { prototype: T },
  name: string,
  pairsOf: (self: T) => readonly Pair[],
): void {
  type Kind = "key" | "value" | "entry";

  class PairIterator {
    readonly #self: T;
    readonly #kind: Kind;
    #index = 0;

    constructor(self: T, kind: Kind) {
      this.#self = self;
      this.#kind = kind;
    }

    next(): IteratorResult<unknown, undefined> {
      const pair = pairsOf(this.#self)[this.#index];
      if (pair === undefined) return { value: undefined, done: true };
      this.#index++;
      const value = this.#kind === "key" ? pair[0] : this.#kind === "value" ? pair[1] : [pair[0], pair[1]];
      return { value, done: false };
    }
  }
  Object.setPrototypeOf(PairIterator.prototype, IteratorPrototype);
  Reflect.deleteProperty(PairIterator.prototype, "constructor");
  Object.defineProperty(PairIterator.prototype, "next", { enumerable: true });
  define(PairIterator.prototype, Symbol.toStringTag, `${name} Iterator`);

  const methods = {
    entries(this: T) {
      pairsOf(this);
      return new PairIterator(this, "entry");
    },
    forEach(this: T, callback: (value: unknown, key: string, self: T) => void, self?: unknown) {
      pairsOf(this);
      needArguments(arguments.length, 1, `${name}.forEach`);
      if (typeof callback !== "function") throw new TypeError(`${name}.forEach expects a function.`);
      for (let index = 0; index < pairsOf(this).length; index++) {
        const [key, value] = pairsOf(this)[index] as Pair;
        Reflect.apply(callback, self, [value, key, this]);
      }
    },
    keys(this: T) {
      pairsOf(this);
      return new PairIterator(this, "key");
    },
    values(this: T) {
      pairsOf(this);
      return new PairIterator(this, "value");
    },
  };
  define(methods.forEach, "length", 1);
  Object.defineProperties(target.prototype, Object.getOwnPropertyDescriptors(methods));
  define(target.prototype, Symbol.iterator, methods.entries);
  Object.defineProperty(target.prototype, Symbol.iterator, { writable: true });
}
