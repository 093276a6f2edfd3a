/**
 * Opens connections for the guarded fetch: a name is resolved once, its addresses are checked, and the connection goes
 * to one of exactly these. Nothing resolves the name a second time, so a changed answer has no effect.
 */
import { lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { parseAddress } from "./addresses.ts";
import { normalizeHost } from "./entries.ts";
import { EgressRefused, type EgressRules, requireAllowedAddress, requireAllowedHost } from "./rules.ts";

export interface ConnectOptions {
  /** Resolves names; default: the system's resolver. Asked for all addresses of a name. */
  lookup?: LookupFunction;
  connectTimeoutMs: number;
}

const MAX_ADDRESSES = 32;

interface Answer {
  address: string;
  family: number;
}

/** A connector for undici that connects to allowed addresses only. Errors of rules are EgressRefused. */
export function createCheckingConnector(
  rules: EgressRules,
  options: ConnectOptions,
): buildConnector.connector {
  const resolve = options.lookup ?? (systemLookup as LookupFunction);

  const checkedLookup: LookupFunction = (hostname, lookupOptions, callback) => {
    resolve(hostname, { ...lookupOptions, all: true }, (error, answer) => {
      if (error) return callback(error, "", 0);
      const outcome = selectAllowed(answer as unknown as Answer[], hostname, rules);
      if (outcome instanceof Error) return callback(outcome, "", 0);
      if (lookupOptions.all) return callback(null, outcome as never);
      const [first] = outcome as [Answer];
      callback(null, first.address, first.family);
    });
  };

  const connect = buildConnector({
    timeout: options.connectTimeoutMs,
    allowH2: false,
    lookup: checkedLookup,
  } as buildConnector.BuildOptions);

  return (target, callback) => {
    try {
      const host = normalizeHost(target.hostname);
      requireAllowedHost(host, rules);
      // An address is connected to without a lookup.
      if (parseAddress(host)) requireAllowedAddress(host, host, rules);
    } catch (error) {
      // Later, as every other outcome: undici is still inside the call that asked for the connection.
      process.nextTick(callback, error as Error, null);
      return;
    }
    connect(target, callback);
  };
}

/** The allowed ones among the addresses of a name; an error when there are none. */
function selectAllowed(answers: Answer[], hostname: string, rules: EgressRules): Answer[] | Error {
  const allowed: Answer[] = [];
  let refusal: Error | null = null;
  for (const answer of answers.slice(0, MAX_ADDRESSES)) {
    try {
      requireAllowedAddress(answer.address, hostname, rules);
      allowed.push(answer);
    } catch (error) {
      refusal ??= error as Error;
    }
  }
  if (allowed.length > 0) return allowed;
  return refusal ?? new EgressRefused(`A connection to ${hostname} is refused: its name has no address.`);
}
