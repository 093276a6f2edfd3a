import { createAdapter, readTools } from "#modules/shared/adapter.ts";
import { withLimits } from "#modules/shared/limits.ts";
import { readSettings } from "#modules/shared/settings.ts";
import type { AdapterModule, AdapterSetupContext, InvokeInput } from "#sdk";
import { configSchema, define, MIN_CREDENTIAL_CHARACTERS, secretsSchemaOf } from "./definition.ts";
import { HttpError } from "./failures.ts";
import { type Credential, prepareRequest } from "./request.ts";
import { type Rule, ruleSchema } from "./rules.ts";
import { type Answer, nameOf, send } from "./send.ts";

interface Service {
  timeoutMs: number;
  maxStreamMs: number;
  credentials: Map<string, Credential>;
}

const PARTS = {
  toolSchema: ruleSchema,
  refuse: (problem: string) => new Error(problem),
  refuseCall: (problem: string) => new HttpError("not_hydrated", problem),
};

export function createHttpAdapter(): AdapterModule {
  return createAdapter<AdapterSetupContext, Service, Rule>({
    ...PARTS,
    setup: (context) => context,
    define: async (_context, text) => define(text),

    hydrate(_context, state, tools) {
      const rules = [...tools.values()];
      const { timeoutMs, maxStreamMs } = readSettings(configSchema, state.config, "config", PARTS.refuse);
      // Secrets of deleted rules may still be set.
      const secrets = readSettings(secretsSchemaOf(rules).loose(), state.secrets, "secrets", PARTS.refuse);
      const credentials = new Map<string, Credential>();
      for (const rule of rules) {
        const credential = makeCredential(rule, secrets[rule.name]);
        if (credential !== undefined) credentials.set(rule.name, credential);
      }
      return { timeoutMs, maxStreamMs, credentials };
    },

    invoke: ({ fetch }, service, rule, input) => call(fetch, service, rule, input),
    savesAnswers: true,

    secretOrigins(use) {
      // Reading a definition makes no request.
      if ("definition" in use) return [];
      // Secrets are bound one by one: the secret of one rule must not reach the origins of another.
      return [...readTools(use, PARTS).values()].flatMap(({ name, auth, origins }) =>
        auth === undefined
          ? []
          : origins.map((origin) => ({ place: `${origin} (rule ${name})`, secret: name })),
      );
    },
  });
}

/** Returns undefined if no secret is set. @throws Error for a secret that no request can carry, without quoting it */
function makeCredential({ name, auth }: Rule, secret: unknown): Credential | undefined {
  if (auth === undefined || secret === undefined) return undefined;
  if (auth.type === "basic") {
    const { username, password } = secret as { username: string; password: string };
    requireFindable(name, password === "" ? username : password);
    const pair = Buffer.from(`${username}:${password}`).toString("base64");
    return { header: ["authorization", `Basic ${pair}`] };
  }
  const pasted = String(secret).trim();
  // Accepts tokens pasted with a leading `Bearer`.
  const text = auth.type === "bearer" ? pasted.replace(/^bearer\s+/i, "") : pasted;
  requireFindable(name, text);
  if (auth.type === "query") return { query: [auth.name, text] };
  // A server would repeat other characters as bytes that redaction does not search for.
  if (!/^[\t\x20-\x7e]+$/.test(text)) {
    throw new Error(`secrets.${name} must be ASCII without line breaks.`);
  }
  if (auth.type === "header") return { header: [auth.name, text] };
  if (/\s/.test(text)) throw new Error(`secrets.${name} must not contain spaces: it is a bearer token.`);
  return { header: ["authorization", `Bearer ${text}`] };
}

/** Redaction does not search for shorter credentials, so a script would see one that a server repeats. */
function requireFindable(name: string, text: string): void {
  if (text.trim().length >= MIN_CREDENTIAL_CHARACTERS) return;
  throw new Error(
    `secrets.${name} must have at least ${MIN_CREDENTIAL_CHARACTERS} characters. A shorter one cannot be removed from answers, and scripts would see it if the server repeats it.`,
  );
}

async function call(
  fetch: typeof globalThis.fetch,
  { timeoutMs, maxStreamMs, credentials }: Service,
  rule: Rule,
  { serviceId, parameters, signal: wish, files, save, openStream, onAnswered, warn }: InvokeInput,
): Promise<Answer> {
  const credential = credentials.get(rule.name);
  if (rule.auth !== undefined && credential === undefined) {
    throw new HttpError(
      "no_credentials",
      `The rule ${rule.name} needs a credential and none is set. Set it with PATCH /services/${serviceId}/secrets.`,
    );
  }
  const request = await prepareRequest(rule, credential, parameters, files);
  const what = nameOf(request);
  let isStreaming = false;
  const onStreaming = (status: number) => {
    isStreaming = true;
    onAnswered?.(status);
  };
  const limits = {
    timeoutMs,
    signals: [wish],
    onTimeout() {
      const found = isStreaming
        ? `stalled: no part of its body arrived for ${timeoutMs} ms`
        : `did not end within ${timeoutMs} ms`;
      return new HttpError("timeout", `${what} ${found} (timeoutMs).`);
    },
    onCancel: () => new HttpError("aborted", `${what} was stopped.`),
  };
  const answer = await withLimits(limits, (signal, timer) =>
    send(request, {
      ...{ fetch, rule, credential, save, openStream, onStreaming, signal, timer, warn },
      maxStreamMs: Math.min(maxStreamMs, timeoutMs * 0.9),
    }),
  );
  onAnswered?.(answer.status);
  return answer;
}
