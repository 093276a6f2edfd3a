/**
 * Finds the tool for a script's `fetch` request: the one visible tool whose rule matches. Tools called by `fetch` or
 * by name get the URL as parsed here.
 */
import { performance } from "node:perf_hooks";
import type { Db } from "#api/db/pool.ts";
import {
  findMismatch,
  foldPath,
  isBelow,
  type Mismatch,
  readRequestUrl,
} from "#modules/shared/fetch-scope.ts";
import type { FetchScope } from "#sdk";
import type { CallCaller, CallGate, ToolCall, ToolPath } from "../contract.ts";
import { CallError, refuseCall } from "../failure.ts";

/** Delay until changes made by another replica take effect. */
const MAX_AGE_MS = 1000;
const MAX_RULES = 5000;
const MAX_SHOWN_RULES = 5;
const MAX_SHOWN_CHARACTERS = 200;

interface FetchRule extends ToolPath {
  scope: FetchScope;
  /** True if the tool, its service and its adapter are enabled and the service is not stale. */
  isEnabled: boolean;
  foldedPrefix: string;
}

/**
 * A request is made by the only rule that matches it. If its server might read the path as that of another rule
 * (`/%61dmin`, `//admin`), neither rule makes it, so that nobody bypasses the stricter policy.
 */
export interface FetchRules {
  /** Rejects with CallError if no rule matches, several match, or the request is invalid. */
  resolve(
    call: Pick<ToolCall, "parameters" | "caller">,
  ): Promise<{ path: ToolPath; parameters: ToolCall["parameters"] }>;
  /**
   * Returns the parameters of a call that names its rule. Rejects with CallError if another rule matches too. The
   * adapter checks that its own rule matches.
   */
  readNamed(call: Pick<ToolCall, keyof ToolPath | "parameters" | "caller">): Promise<ToolCall["parameters"]>;
  forget(): void;
}

export function createFetchRules(
  db: Db,
  gate: Pick<CallGate, "canSee">,
  failureOf: (serviceId: string) => string | null,
): FetchRules {
  let kept: { readAtMs: number; rules: Promise<FetchRule[]> } | null = null;

  function list(): Promise<FetchRule[]> {
    if (kept !== null && performance.now() - kept.readAtMs <= MAX_AGE_MS) return kept.rules;
    const rules = readRules(db);
    const read = { readAtMs: performance.now(), rules };
    kept = read;
    rules.catch(() => {
      if (kept === read) kept = null;
    });
    return rules;
  }

  async function listVisible(caller: CallCaller): Promise<FetchRule[]> {
    const rules = await list();
    return rules.filter((rule) => gate.canSee(caller, rule));
  }

  const isOpen = ({ isEnabled, serviceId }: FetchRule) => isEnabled && failureOf(serviceId) === null;

  return {
    async readNamed({ serviceId, toolId, parameters, caller }) {
      // The tool's schema rejects anything but text.
      if (typeof parameters.url !== "string") return parameters;
      const { url, method } = readRequest(parameters);
      const visible = await listVisible(caller);
      const own = visible.find((rule) => rule.serviceId === serviceId && rule.toolId === toolId);
      if (own !== undefined && isOpen(own) && findMismatch(own.scope, url, method) === null)
        refuseOthers(own, visible.filter(isOpen), url, method);
      return { ...parameters, url: url.href, ...("method" in parameters && { method }) };
    },
    async resolve({ parameters, caller }) {
      const { url, method } = readRequest(parameters);
      const fitting: FetchRule[] = [];
      const others: [FetchRule, Mismatch][] = [];
      const visible = await listVisible(caller);
      for (const rule of visible) {
        const misfit = findMismatch(rule.scope, url, method);
        if (misfit === null) fitting.push(rule);
        else others.push([rule, misfit]);
      }
      // Falls back to a disabled rule that matches, because calling it explains why it is rejected.
      const rule = fitting.find(isOpen) ?? fitting[0];
      if (rule === undefined) throw refuse("no_rule", describeNone(url, method, others));
      if (isOpen(rule)) refuseOthers(rule, visible.filter(isOpen), url, method);
      const { serviceId, toolId } = rule;
      return { path: { serviceId, toolId }, parameters: { ...parameters, url: url.href, method } };
    },
    forget() {
      kept = null;
    },
  };
}

async function readRules(db: Db): Promise<FetchRule[]> {
  const rules = await db<Omit<FetchRule, "foldedPrefix">[]>`
    select t.service_id as "serviceId", t.id as "toolId", t.fetch_scope as scope,
      (t.enabled and s.enabled and not s.stale and m.enabled and not m.missing) as "isEnabled"
    from tools t join services s on s.id = t.service_id join modules m on m.id = s.adapter
    where t.fetch_scope is not null order by s.position, t.position limit ${MAX_RULES}`;
  return rules.map((rule) => ({ ...rule, foldedPrefix: foldPath(rule.scope.pathPrefix) }));
}

function readRequest({ url: text, method = "GET" }: Record<string, unknown>): { url: URL; method: string } {
  if (typeof text !== "string") throw refuseCall("invalid_parameters", "fetch expects the URL as text.");
  const read = readRequestUrl(text);
  if ("problem" in read) {
    throw refuseCall("invalid_parameters", `fetch ${JSON.stringify(cut(text))}: the URL ${read.problem}.`);
  }
  if (typeof method !== "string" || !/^[A-Za-z]{1,20}$/.test(method)) {
    throw refuseCall(
      "invalid_parameters",
      `fetch ${cut(read.url.href)}: the method must be a word such as GET.`,
    );
  }
  return { url: read.url, method: method.toUpperCase() };
}

function nameOf(url: URL, method: string): string {
  return `${method} ${url.origin}${cut(url.pathname)}`;
}

/** Throws CallError if another open rule allows the request, or would if the server reads the path differently. */
function refuseOthers(rule: FetchRule, open: readonly FetchRule[], url: URL, method: string): void {
  const others = open.filter(
    (other) =>
      other !== rule && other.scope.origins.includes(url.origin) && other.scope.methods.includes(method),
  );
  if (others.length === 0) return;
  const fitting = others.filter(({ scope }) => isBelow(url.pathname, scope.pathPrefix));
  const path = foldPath(url.pathname);
  const read = others.filter(({ foldedPrefix }) => isBelow(path, foldedPrefix));
  const request = `fetch ${nameOf(url, method)}`;
  if (fitting.length > 0) {
    throw refuse(
      "ambiguous_rule",
      `${request} fits more than one rule: ${listRules([rule, ...fitting])}. None of them makes it: an administrator has to narrow or disable all but one.`,
    );
  }
  if (read.length > 0) {
    throw refuse(
      "ambiguous_rule",
      `${request} fits ${listRules([rule])}, and its server may read the path as one of ${listRules(read)}. None of them makes it: write the path without encoding and double slashes, or ask an administrator to narrow or disable all but one.`,
    );
  }
}

function describeNone(url: URL, method: string, rules: readonly [FetchRule, Mismatch][]): string {
  const request = nameOf(url, method);
  if (rules.length === 0) {
    return `fetch ${request}: no rule lets this script make requests. An administrator adds a service of the adapter http with a rule for ${url.origin}.`;
  }
  const of = (misfit: Mismatch) => rules.filter(([, found]) => found === misfit).map(([rule]) => rule);
  const byMethod = of("method");
  if (byMethod.length > 0) {
    const near = describeEach(byMethod, (path, { methods }) => `${path}, which allows ${methods.join(", ")}`);
    return `fetch ${request}: the method ${method} is not allowed by the rule ${near}.`;
  }
  const byPath = of("path");
  if (byPath.length > 0) {
    const near = describeEach(byPath, (path, { pathPrefix }) => `${path}, which allows ${pathPrefix}`);
    return `fetch ${request}: the path is not allowed by the rule ${near}.`;
  }
  const sameHost = of("origin").filter(({ scope }) =>
    scope.origins.some((one) => hostOf(one) === url.hostname),
  );
  if (sameHost.length > 0) {
    const near = describeEach(sameHost, (path, { origins }) => `${path}, which allows ${origins.join(", ")}`);
    return `fetch ${request}: the scheme or port is not allowed by the rule ${near}.`;
  }
  return `fetch ${request}: no rule allows ${url.origin}. Rules of this script: ${listRules(rules.map(([rule]) => rule))}.`;
}

function listRules(rules: readonly FetchRule[]): string {
  return describeEach(
    rules,
    (path, { methods, origins, pathPrefix }) =>
      `${path} (${methods.join(", ")} ${origins.map((origin) => origin + pathPrefix).join(", ")})`,
  );
}

function describeEach(
  rules: readonly FetchRule[],
  describe: (path: string, scope: FetchScope) => string,
): string {
  const shown = rules
    .slice(0, MAX_SHOWN_RULES)
    .map(({ serviceId, toolId, scope }) => cut(describe(`${serviceId}.${toolId}`, scope)));
  const left = rules.length - shown.length;
  return `${shown.join("; ")}${left > 0 ? `; and ${left} more` : ""}`;
}

function hostOf(origin: string): string | undefined {
  return URL.parse(origin)?.hostname;
}

function cut(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)}…`;
}

function refuse(code: "no_rule" | "ambiguous_rule", message: string): CallError {
  return new CallError(message, {
    name: "ToolError",
    code,
    status: code === "no_rule" ? 404 : 409,
    outcome: "error",
    failure: code === "no_rule" ? "not_found" : "invalid_parameters",
  });
}
