/**
 * What may reach the host's handlers, written down a second time and by hand: nothing here shares a schema with the
 * code under test. Each function answers what is wrong, or null.
 */

const METHODS: Record<string, Record<string, (value: unknown) => boolean>> = {
  invoke: {
    serviceId: isIdentifier,
    toolId: isIdentifier,
    parameters: isRecord,
    "saveAs?": isFileName,
    "throwOnError?": (value) => value === false,
  },
  discoverServices: { "query?": isQuery, "limit?": isLimit },
  discoverTools: { "query?": isQuery, "limit?": isLimit, "serviceId?": isIdentifier },
  getService: { id: isIdentifier },
  getTool: { serviceId: isIdentifier, toolId: isIdentifier },
  getToolDocs: { serviceId: isIdentifier, toolId: isIdentifier },
  ask: { message: (value) => isText(value, 1, 10_000), "schema?": isRecord },
  readFile: {
    name: isFileName,
    offset: (value) => value === 0 || isPositive(value),
    length: (value) => isPositive(value) && (value as number) <= 262_144,
    "asText?": (value) => value === true,
  },
  writeFile: {
    name: isFileName,
    write: isPositive,
    mode: (value) => ["replace", "append", "patch", "discard"].includes(value as string),
    "at?": (value) => value === 0 || isPositive(value),
    "more?": (value) => value === true,
    "text?": (value) => typeof value === "string",
  },
  removeFile: { name: isFileName },
  copyFile: { name: isFileName, to: isFileName, "moves?": (value) => value === true },
  resizeFile: { name: isFileName, size: (value) => value === 0 || isPositive(value) },
};

const MAX_MESSAGE_DEPTH = 64;
const MAX_RESULT_DEPTH = 512;

export function findFaultInCall(method: string, params: unknown): string | null {
  const rules = METHODS[method];
  if (rules === undefined) return `the method ${method}`;
  return findFaultInMembers(method, params, rules) ?? findFaultInValue(params, MAX_MESSAGE_DEPTH + 1);
}

export function findFaultInAttachment(
  method: string,
  params: unknown,
  attachment: Buffer | null,
): string | null {
  if (attachment === null) return null;
  if (method !== "writeFile") return `bytes beside ${method}`;
  if (Object.hasOwn(params as object, "text")) return "bytes beside text";
  return attachment.length >= 1 && attachment.length <= 262_144
    ? null
    : `${attachment.length} bytes attached`;
}

export function findFaultInOutput(value: unknown): string | null {
  return isRecord(value) ? findFaultInValue(value, MAX_MESSAGE_DEPTH) : "an output that is no record";
}

export function findFaultInEnd(end: unknown): string | null {
  if (!isRecord(end)) return "an end that is no record";
  const { ok, result, reason, error } = end;
  if (ok === true) {
    if (Object.keys(end).some((key) => key !== "ok" && key !== "result"))
      return "an end with something beside its result";
    return findFaultInValue(result, MAX_RESULT_DEPTH);
  }
  if (ok !== false) return "an end that is neither";
  if (!["script_error", "unhandled_rejection", "output_limit"].includes(reason as string))
    return `an end for ${String(reason)}`;
  return findFaultInMembers("error", error, {
    name: (value) => isText(value, 0, 1000),
    message: (value) => isText(value, 0, 100_000),
    stack: (value) => isText(value, 0, 100_000),
    "line?": isPositive,
    "column?": isPositive,
  });
}

function findFaultInMembers(
  what: string,
  value: unknown,
  rules: Record<string, (value: unknown) => boolean>,
): string | null {
  if (!isRecord(value)) return `${what} that is no record`;
  const left = new Set(Object.keys(value));
  for (const [rule, fits] of Object.entries(rules)) {
    const key = rule.replace("?", "");
    left.delete(key);
    const member = value[key];
    if (member === undefined && rule.endsWith("?")) continue;
    if (!fits(member)) return `${what}.${key} being ${String(member).slice(0, 50)}`;
  }
  return left.size === 0 ? null : `${what} with ${[...left].join(", ").slice(0, 100)}`;
}

/** Plain data of this realm, no deeper than `depth`; a key `__proto__` is data like any other, and a large integer an object of its digits. */
function findFaultInValue(value: unknown, depth: number): string | null {
  if (typeof value !== "object" || value === null) {
    return typeof value === "function" || typeof value === "symbol" ? `a ${typeof value}` : null;
  }
  if (depth <= 0) return "a value nested too deep";
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null && Object.isFrozen(value) && /^-?\d{16,1000}$/.test(JSON.stringify(value)))
    return null;
  if (prototype !== Object.prototype && prototype !== Array.prototype)
    return "a value with a strange prototype";
  for (const member of Object.values(value)) {
    const fault = findFaultInValue(member, depth - 1);
    if (fault !== null) return fault;
  }
  return null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** `max` counts characters, not the halves of a pair. */
function isText(value: unknown, min: number, max: number): boolean {
  if (typeof value !== "string" || value.length < min || value.length > 2 * max) return false;
  return value.length <= max || Array.from(value).length <= max;
}

function isIdentifier(value: unknown): boolean {
  return isText(value, 1, 500);
}

function isFileName(value: unknown): boolean {
  return isText(value, 1, 1000);
}

function isQuery(value: unknown): boolean {
  return isText(value, 0, 1000);
}

function isLimit(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 200;
}

function isPositive(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}
