/** `node:assert`: Node's assertions. Errors name the expected and the actual value. */
const { isDeepEqual } = require("./equality.ts") as typeof import("./equality.ts");
const { inspect } = (require("./util.ts") as typeof import("./util.ts")).util;

type Expected = Error | RegExp | object | ((error: unknown) => unknown) | undefined;
type Message = string | Error | undefined;

interface Details {
  message?: Message;
  actual?: unknown;
  expected?: unknown;
  operator: string;
}

class AssertionError extends Error {
  code = "ERR_ASSERTION";
  actual: unknown;
  expected: unknown;
  operator: string;
  generatedMessage: boolean;

  constructor({ message, actual, expected, operator }: Details) {
    super(message === undefined ? describe(actual, expected, operator) : String(message));
    this.name = "AssertionError";
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    this.generatedMessage = message === undefined;
  }
}

const RELATIONS: Record<string, string> = {
  strictEqual: "Expected values to be strictly equal:",
  deepStrictEqual: "Expected values to be strictly deep-equal:",
  equal: "Expected values to be loosely equal:",
  deepEqual: "Expected values to be loosely deep-equal:",
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notEqual: 'Expected "actual" to be loosely unequal to:',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  partialDeepStrictEqual: "Expected values to be partially and strictly deep-equal:",
  match: "The input did not match the regular expression",
};
const MAX_SHOWN_CHARS = 4000;

function show(value: unknown): string {
  const text = inspect(value, { depth: 6, maxArrayLength: 50, sorted: true });
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text;
}

function describe(actual: unknown, expected: unknown, operator: string): string {
  if (operator === "==") return `The expression evaluated to a falsy value: ${show(actual)}`;
  const relation = RELATIONS[operator] ?? `Failed: ${operator}`;
  if (operator.startsWith("not")) return `${relation}\n\n${show(expected)}`;
  const [found, wanted] = [show(actual), show(expected)];
  if (!`${found}${wanted}`.includes("\n") && found.length + wanted.length < 70)
    return `${relation}\n\n${found} !== ${wanted}\n`;
  return `${relation}\n+ actual - expected\n\n${prefix(found, "+ ")}\n${prefix(wanted, "- ")}\n`;
}

function prefix(text: string, sign: string): string {
  return text
    .split("\n")
    .map((line) => sign + line)
    .join("\n");
}

function failWith(details: Details, caller: (...args: never[]) => unknown): never {
  if (details.message instanceof Error) throw details.message;
  const error = new AssertionError(details);
  Error.captureStackTrace?.(error, caller);
  throw error;
}

function ok(value: unknown, message?: Message): void {
  if (!value) failWith({ message, actual: value, expected: true, operator: "==" }, ok);
}

type Comparison = (actual: unknown, expected: unknown, message?: Message) => void;

function comparison(operator: string, holds: (actual: unknown, expected: unknown) => boolean): Comparison {
  const compare: Comparison = (actual, expected, message) => {
    if (!holds(actual, expected)) failWith({ message, actual, expected, operator }, compare);
  };
  return Object.defineProperty(compare, "name", { value: operator });
}

// biome-ignore lint/suspicious/noDoubleEquals: loose equality is defined this way.
const isLooselyEqual = (a: unknown, b: unknown) => a == b || (Number.isNaN(a) && Number.isNaN(b));
const loose = (a: unknown, b: unknown) => isDeepEqual(a, b, false);
const strictly = (a: unknown, b: unknown) => isDeepEqual(a, b, true);

function contains(actual: unknown, expected: unknown): boolean {
  if (typeof expected !== "object" || expected === null || typeof actual !== "object" || actual === null)
    return strictly(actual, expected);
  if (Array.isArray(expected)) {
    const rest = Array.isArray(actual) ? [...actual] : [];
    return expected.every((item) => {
      const index = rest.findIndex((candidate) => contains(candidate, item));
      if (index !== -1) rest.splice(0, index + 1);
      return index !== -1;
    });
  }
  if (Object.getPrototypeOf(expected) !== Object.prototype) return strictly(actual, expected);
  return Object.keys(expected).every(
    (key) => key in actual && contains(actual[key as never], expected[key as never]),
  );
}

/** Throws an AssertionError, or `thrown` itself, if `thrown` is not the expected error. */
function checkThrown(
  thrown: unknown,
  expected: Expected,
  message: Message,
  caller: (...args: never[]) => unknown,
  operator: string,
): void {
  if (expected === undefined) return;
  const refuse = (text: string): never =>
    failWith({ message: message ?? text, actual: thrown, expected, operator }, caller);
  if (expected instanceof RegExp) {
    if (!expected.test(String(thrown)))
      refuse(
        `The input did not match the regular expression ${expected}. Input:\n\n${show(String(thrown))}\n`,
      );
  } else if (typeof expected === "function") {
    if (expected.prototype !== undefined && thrown instanceof (expected as never as new () => object)) return;
    if (expected === Error || Object.prototype.isPrototypeOf.call(Error, expected)) throw thrown;
    if ((expected as (error: unknown) => unknown)(thrown) !== true)
      refuse(`The ${expected.name || "validation"} function is expected to return "true".`);
  } else {
    const keys =
      expected instanceof Error ? [...Object.keys(expected), "name", "message"] : Object.keys(expected);
    for (const key of keys) {
      const [found, wanted] = [(thrown as Record<string, unknown>)?.[key], expected[key as never] as unknown];
      const fits =
        wanted instanceof RegExp && typeof found === "string" ? wanted.test(found) : strictly(found, wanted);
      if (!fits) refuse(`Expected "${key}" of what was thrown to be ${show(wanted)}; found ${show(found)}.`);
    }
  }
}

function takeExpected(expected: Expected | string, message: Message): [Expected, Message] {
  return typeof expected === "string" ? [undefined, expected] : [expected, message];
}

function throws(run: () => unknown, expected?: Expected | string, message?: Message): void {
  const [wanted, text] = takeExpected(expected, message);
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
    checkThrown(thrown, wanted, text, throws, "throws");
    return;
  }
  failWith({ message: text ?? "Missing expected exception.", expected: wanted, operator: "throws" }, throws);
}

async function settle(run: Promise<unknown> | (() => Promise<unknown>)): Promise<{ error: unknown } | null> {
  try {
    await (typeof run === "function" ? run() : run);
    return null;
  } catch (error) {
    return { error };
  }
}

async function rejects(
  run: Promise<unknown> | (() => Promise<unknown>),
  expected?: Expected | string,
  message?: Message,
): Promise<void> {
  const [wanted, text] = takeExpected(expected, message);
  const outcome = await settle(run);
  if (outcome === null)
    failWith(
      { message: text ?? "Missing expected rejection.", expected: wanted, operator: "rejects" },
      rejects,
    );
  else checkThrown(outcome.error, wanted, text, rejects, "rejects");
}

function doesNotThrow(run: () => unknown, expected?: Expected | string, message?: Message): void {
  const [, text] = takeExpected(expected, message);
  try {
    run();
  } catch (error) {
    const found = (error as Error)?.message;
    failWith(
      {
        message: text ?? `Got unwanted exception.\nActual message: "${found}"`,
        actual: error,
        operator: "doesNotThrow",
      },
      doesNotThrow,
    );
  }
}

async function doesNotReject(
  run: Promise<unknown> | (() => Promise<unknown>),
  expected?: Expected | string,
  message?: Message,
): Promise<void> {
  const [, text] = takeExpected(expected, message);
  const outcome = await settle(run);
  const found = (outcome?.error as Error)?.message;
  if (outcome)
    failWith(
      {
        message: text ?? `Got unwanted rejection.\nActual message: "${found}"`,
        actual: outcome.error,
        operator: "doesNotReject",
      },
      doesNotReject,
    );
}

function match(text: unknown, pattern: RegExp, message?: Message): void {
  if (typeof text === "string" && pattern.test(text)) return;
  const found = `The input did not match the regular expression ${pattern}. Input:\n\n${show(text)}\n`;
  failWith({ message: message ?? found, actual: text, expected: pattern, operator: "match" }, match);
}

function doesNotMatch(text: unknown, pattern: RegExp, message?: Message): void {
  if (typeof text === "string" && !pattern.test(text)) return;
  const found = `The input was expected to not match the regular expression ${pattern}. Input:\n\n${show(text)}\n`;
  failWith(
    { message: message ?? found, actual: text, expected: pattern, operator: "doesNotMatch" },
    doesNotMatch,
  );
}

function fail(message: Message = "Failed"): never {
  failWith({ message, operator: "fail" }, fail);
}

function ifError(value: unknown): void {
  if (value === null || value === undefined) return;
  const text = value instanceof Error ? value.message : show(value);
  failWith(
    {
      message: `ifError got unwanted exception: ${text}`,
      actual: value,
      expected: null,
      operator: "ifError",
    },
    ifError,
  );
}

const strictEqual = comparison("strictEqual", Object.is);
const notStrictEqual = comparison("notStrictEqual", (a, b) => !Object.is(a, b));
const deepStrictEqual = comparison("deepStrictEqual", strictly);
const notDeepStrictEqual = comparison("notDeepStrictEqual", (a, b) => !strictly(a, b));

const rest = {
  AssertionError,
  ok,
  throws,
  rejects,
  doesNotThrow,
  doesNotReject,
  match,
  doesNotMatch,
  fail,
  ifError,
  strictEqual,
  notStrictEqual,
  deepStrictEqual,
  notDeepStrictEqual,
  partialDeepStrictEqual: comparison("partialDeepStrictEqual", contains),
};

const assertStrict = Object.assign((value: unknown, message?: Message) => ok(value, message), rest, {
  equal: strictEqual,
  notEqual: notStrictEqual,
  deepEqual: deepStrictEqual,
  notDeepEqual: notDeepStrictEqual,
});

export const assert = Object.assign((value: unknown, message?: Message) => ok(value, message), rest, {
  equal: comparison("equal", isLooselyEqual),
  notEqual: comparison("notEqual", (a, b) => !isLooselyEqual(a, b)),
  deepEqual: comparison("deepEqual", loose),
  notDeepEqual: comparison("notDeepEqual", (a, b) => !loose(a, b)),
  strict: Object.assign(assertStrict, { strict: assertStrict }),
});
