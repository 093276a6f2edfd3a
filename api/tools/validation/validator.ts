/**
 * Validates parameters against a tool's input schema and fills in defaults. Small harmless schemas are checked on the
 * main thread, all others in a separate thread with a time limit. Checks are cached by schema hash, within limits.
 */

import {
  type CheckKind,
  compileCheck,
  type ParameterCheck,
  type ParameterIssue,
} from "#kernel/parameter-check.ts";
import { type JSONSchema, withBigInts, withRawIntegers } from "#sdk";
import { createCheckingThread } from "./checking-thread.ts";
import { readSchema } from "./readable-schema.ts";

const VALIDATOR_LIMITS = {
  maxCached: 1000,
  maxCachedCharacters: 32 * 1024 * 1024,
  /** Maximum schema size compiled on the main thread, at up to 0.2 ms per node. */
  maxNodesHere: 60,
  /** Maximum number of parameter values checked on the main thread. */
  maxValuesHere: 2000,
} as const;

export type CheckOutcome =
  | { kind: "valid"; parameters: Record<string, unknown> }
  | { kind: "invalid"; issues: ParameterIssue[] }
  /** The schema is unusable, or the check took too long. `message` is a sentence without the tool's name. */
  | { kind: "unusable" | "timeout" | "busy"; message: string };

export interface ParameterValidator extends AsyncDisposable {
  /**
   * `loadSchema` is called if no check is cached for the hash, which also identifies the kind of check. The given
   * parameters are not changed. Slow checks delay those of the same `caller` first.
   */
  check(
    caller: string,
    hash: string,
    loadSchema: () => Promise<JSONSchema>,
    parameters: Record<string, unknown>,
    kind?: Exclude<CheckKind, "strict">,
  ): Promise<CheckOutcome>;
}

type Prepared =
  | { kind: "here"; check: ParameterCheck; characters: number; schema: string }
  | { kind: "thread"; characters: number; schema: string }
  | { kind: "unusable"; characters: number; message: string };

export function createParameterValidator(): ParameterValidator {
  const thread = createCheckingThread();
  const cache = new Map<string, Prepared>();
  let cachedCharacters = 0;

  async function takePrepared(
    hash: string,
    loadSchema: () => Promise<JSONSchema>,
    kind: CheckKind,
  ): Promise<Prepared> {
    const known = cache.get(hash);
    if (known !== undefined) {
      cache.delete(hash);
      cache.set(hash, known);
      return known;
    }
    const prepared = prepare(await loadSchema(), kind);
    if (!cache.has(hash)) cachedCharacters += prepared.characters;
    cache.set(hash, prepared);
    for (const [oldest, { characters }] of cache) {
      const isWithin =
        cache.size <= VALIDATOR_LIMITS.maxCached && cachedCharacters <= VALIDATOR_LIMITS.maxCachedCharacters;
      if (isWithin || cache.size === 1) break;
      cache.delete(oldest);
      cachedCharacters -= characters;
    }
    return prepared;
  }

  return {
    async check(caller, hash, loadSchema, parameters, kind = "parameters") {
      const prepared = await takePrepared(hash, loadSchema, kind);
      if (prepared.kind === "unusable") return { kind: "unusable", message: prepared.message };
      const given = withBigInts(parameters);
      if (prepared.kind === "here" && isSmall(given)) {
        const copy = structuredClone(given);
        const { fits, fitsPlainly, listIssues } = prepared.check;
        const isPlain = given === parameters;
        return (isPlain && fitsPlainly(copy)) || fits(copy)
          ? { kind: "valid", parameters: withRawIntegers(copy) }
          : { kind: "invalid", issues: listIssues() };
      }
      const outcome = await thread.check(caller, hash, prepared.schema, given, kind);
      switch (outcome.kind) {
        case "checked":
          return outcome.issues.length === 0
            ? { kind: "valid", parameters: withRawIntegers(outcome.parameters) }
            : { kind: "invalid", issues: outcome.issues };
        case "busy":
          return { kind: "busy", message: "Too many parameter checks are queued. Try again shortly." };
        case "timeout":
          return {
            kind: "timeout",
            message: `The parameters could not be checked against the tool's schema within ${outcome.maxMs} ms. Send less at once.`,
          };
        case "failed":
          return { kind: "unusable", message: describeUnusable(outcome.message) };
      }
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

function prepare(source: JSONSchema, kind: CheckKind): Prepared {
  try {
    const { schema, nodes, isLinear } = readSchema(source);
    const text = JSON.stringify(schema);
    const characters = text.length;
    if (!isLinear || nodes > VALIDATOR_LIMITS.maxNodesHere)
      return { kind: "thread", schema: text, characters };
    return { kind: "here", check: compileCheck(schema, kind), schema: text, characters };
  } catch (error) {
    return { kind: "unusable", message: describeUnusable((error as Error).message), characters: 100 };
  }
}

function describeUnusable(reason: string): string {
  return `The input schema of the tool cannot be used: ${reason.slice(0, 300)} Correct the definition of the service.`;
}

/** Returns true for few values, for which checking a harmless schema takes well under a millisecond. */
function isSmall(parameters: Record<string, unknown>): boolean {
  const open: unknown[] = [parameters];
  let values = 0;
  while (open.length > 0) {
    const value = open.pop();
    values += 1;
    if (values + open.length > VALIDATOR_LIMITS.maxValuesHere) return false;
    if (value !== null && typeof value === "object")
      open.push(...Object.values(value).slice(0, VALIDATOR_LIMITS.maxValuesHere + 1));
  }
  return true;
}
