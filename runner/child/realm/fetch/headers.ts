/** `Headers` of the Fetch standard. Whether a header may be sent is decided when the request is sent. */
import { define, finishClass, makeIterable, needArguments, toByteString } from "./interfaces.ts";

/** The guards `response` and `request` matter only in browsers; here a script may build any message. */
type Guard = "none" | "immutable";
type Header = [name: string, value: string];

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FORBIDDEN_IN_VALUE = /[\0\r\n]/;

export function isToken(text: string): boolean {
  return NAME.test(text);
}

/** Lists every header in order, with names as written. */
export let listOf: (headers: Headers) => readonly Header[];
export let guardHeaders: (headers: Headers) => void;
export let fill: (headers: Headers, init: unknown) => void;
let sortedOf: (headers: Headers) => readonly Header[];

export class Headers {
  /** All headers. A repeated name keeps its first spelling. */
  #list: Header[] = [];
  #guard: Guard = "none";
  #sorted: Header[] | null = null;

  static {
    listOf = (headers) => headers.#list;
    guardHeaders = (headers) => {
      headers.#guard = "immutable";
    };
    fill = (headers, init) => {
      for (const [name, value] of readInit(init)) headers.#append(name, value);
    };
    sortedOf = (headers) => {
      headers.#sorted ??= sortAndCombine(headers.#list);
      return headers.#sorted;
    };
  }

  constructor(init: unknown = undefined) {
    if (init !== undefined) fill(this, init);
  }

  append(name: unknown, value: unknown): void {
    needArguments(arguments.length, 2, "Headers.append");
    this.#append(toByteString(name, "The header's name"), toByteString(value, "The header's value"));
  }

  delete(name: unknown): void {
    needArguments(arguments.length, 1, "Headers.delete");
    const wanted = this.#check(toByteString(name, "The header's name")).toLowerCase();
    this.#mayChange();
    this.#change(this.#list.filter(([other]) => other.toLowerCase() !== wanted));
  }

  get(name: unknown): string | null {
    needArguments(arguments.length, 1, "Headers.get");
    const wanted = this.#check(toByteString(name, "The header's name")).toLowerCase();
    const values = this.#list.filter(([other]) => other.toLowerCase() === wanted);
    return values.length === 0 ? null : values.map(([, value]) => value).join(", ");
  }

  getSetCookie(): string[] {
    return this.#list.filter(([name]) => name.toLowerCase() === "set-cookie").map(([, value]) => value);
  }

  has(name: unknown): boolean {
    needArguments(arguments.length, 1, "Headers.has");
    const wanted = this.#check(toByteString(name, "The header's name")).toLowerCase();
    return this.#list.some(([other]) => other.toLowerCase() === wanted);
  }

  set(name: unknown, value: unknown): void {
    needArguments(arguments.length, 2, "Headers.set");
    const key = this.#check(toByteString(name, "The header's name"));
    const text = readValue(key, toByteString(value, "The header's value"));
    this.#mayChange();
    const wanted = key.toLowerCase();
    const at = this.#list.findIndex(([other]) => other.toLowerCase() === wanted);
    if (at === -1) this.#change([...this.#list, [key, text]]);
    else {
      const kept: Header = [this.#list[at]?.[0] ?? key, text];
      const isOther = ([other]: Header, index: number) => index <= at || other.toLowerCase() !== wanted;
      this.#change(this.#list.with(at, kept).filter(isOther));
    }
  }

  #append(name: string, given: string): void {
    const value = readValue(this.#check(name), given);
    this.#mayChange();
    const wanted = name.toLowerCase();
    const known = this.#list.find(([other]) => other.toLowerCase() === wanted);
    this.#list.push([known?.[0] ?? name, value]);
    this.#sorted = null;
  }

  #change(list: Header[]): void {
    this.#list = list;
    this.#sorted = null;
  }

  #check(name: string): string {
    if (isToken(name)) return name;
    throw new TypeError(`${JSON.stringify(name)} is an invalid header name.`);
  }

  #mayChange(): void {
    if (this.#guard === "immutable") throw new TypeError("The headers are immutable.");
  }
}

function readValue(name: string, given: string): string {
  const value = given.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (!FORBIDDEN_IN_VALUE.test(value)) return value;
  throw new TypeError(`The value of the header ${name} has a line break or a zero byte, which is invalid.`);
}

/** Sorts by name and joins the values of a name, except those of `set-cookie`. */
function sortAndCombine(list: readonly Header[]): Header[] {
  const byName = new Map<string, string>();
  const cookies: Header[] = [];
  for (const [name, value] of list) {
    const key = name.toLowerCase();
    if (key === "set-cookie") cookies.push([key, value]);
    else byName.set(key, byName.has(key) ? `${byName.get(key)}, ${value}` : value);
  }
  const rank = ([name]: Header) => name;
  return [...byName, ...cookies].sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}

function readInit(init: unknown): Header[] {
  if ((typeof init !== "object" && typeof init !== "function") || init === null) {
    throw new TypeError("Headers expects pairs or an object with names and values.");
  }
  const list: Header[] = [];
  const add = (name: unknown, value: unknown) =>
    list.push([toByteString(name, "The header's name"), toByteString(value, "The header's value")]);
  const iterate = (init as { [Symbol.iterator]?: unknown })[Symbol.iterator];
  if (iterate !== undefined && iterate !== null) {
    if (typeof iterate !== "function")
      throw new TypeError(
        "Headers expects pairs or an object; found a value whose Symbol.iterator is not a function.",
      );
    const pairs = { [Symbol.iterator]: () => Reflect.apply(iterate, init, []) as Iterator<unknown> };
    for (const pair of pairs) {
      if (typeof pair !== "object" || pair === null || !(Symbol.iterator in pair)) {
        throw new TypeError("Headers expects pairs of a name and a value.");
      }
      const members = [...(pair as Iterable<unknown>)];
      if (members.length !== 2) throw new TypeError("Headers expects pairs of a name and a value.");
      add(members[0], members[1]);
    }
    return list;
  }
  for (const key of Reflect.ownKeys(init)) {
    if (!Reflect.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
    // Converting a symbol throws, which has to happen before the value is read.
    const name = toByteString(key, "The header's name");
    add(name, (init as Record<string, unknown>)[name]);
  }
  return list;
}

makeIterable(Headers, "Headers", (headers) => sortedOf(headers));
finishClass(Headers, "Headers");
define(
  Headers.prototype,
  Symbol.for("nodejs.util.inspect.custom"),
  function (
    this: Headers,
    depth: number,
    options: object,
    inspect: (value: unknown, options: object) => string,
  ) {
    if (depth < 0) return "[Headers]";
    return `Headers ${inspect(Object.fromEntries(listCombined(this)), options)}`;
  },
);

/** Lists headers as Node shows them, with cookies joined by semicolons. */
function listCombined(headers: Headers): [string, string][] {
  const all = new Map<string, string>();
  for (const [name, value] of sortedOf(headers)) {
    all.set(name, all.has(name) ? `${all.get(name)}; ${value}` : value);
  }
  return [...all];
}
