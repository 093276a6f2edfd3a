/** Reads a list of webhooks (JSON, from whoever installs the service) and says which tools it makes. */
import type { JSONSchema, ServiceDefinition } from "@cyrnel/sdk";

export interface Hook {
  id: string;
  description: string;
  /** Below the service's `baseUrl`. */
  path: string;
  /** JSON Schema of what is posted. */
  payload: JSONSchema;
  /** Whether calling it changes something; policies treat such tools with more care. */
  destructive: boolean;
}

export interface WebhookList {
  name: string;
  description: string;
  hooks: Hook[];
}

const MAX_HOOKS = 500;
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** Throws an Error for a person: the host shows its message to whoever installs the definition. */
export function readDefinition(input: string): WebhookList {
  let json: unknown;
  try {
    json = JSON.parse(input);
  } catch {
    throw new Error("The definition is not JSON.");
  }
  if (!isObject(json) || !Array.isArray(json.hooks)) {
    throw new Error('The definition has no list "hooks".');
  }
  if (json.hooks.length > MAX_HOOKS) throw new Error(`More than ${MAX_HOOKS} hooks.`);
  return {
    name: text(json.name, "name", "Webhooks"),
    description: text(json.description, "description", ""),
    hooks: json.hooks.map(readHook),
  };
}

function readHook(value: unknown, index: number): Hook {
  const at = `hooks[${index}]`;
  if (!isObject(value)) throw new Error(`${at} is no object.`);
  const id = text(value.id, `${at}.id`);
  if (!IDENTIFIER.test(id))
    throw new Error(`${at}.id (${id}) is no identifier; expected letters, digits, _ and $.`);
  const path = text(value.path, `${at}.path`);
  // Relative to baseUrl and nowhere else: no scheme, no host, no way up.
  if (!/^[A-Za-z0-9_~-][A-Za-z0-9._~/-]*$/.test(path) || path.split("/").includes("..")) {
    throw new Error(`${at}.path (${path}) must be a plain relative path.`);
  }
  const payload = value.payload ?? { type: "object" };
  if (!isObject(payload)) throw new Error(`${at}.payload is no JSON Schema.`);
  return {
    id,
    path,
    payload,
    description: text(value.description, `${at}.description`, ""),
    destructive: value.destructive !== false,
  };
}

/** The same list always makes the same service. */
export function toService(list: WebhookList): ServiceDefinition {
  return {
    name: list.name,
    description: list.description,
    configSchema: {
      type: "object",
      properties: {
        baseUrl: { type: "string", pattern: "^https?://", description: "Where the hooks are; ends with /." },
        timeoutMs: { type: "integer", minimum: 1, maximum: 60_000, default: 10_000 },
      },
      required: ["baseUrl"],
      additionalProperties: false,
    },
    secretsSchema: {
      type: "object",
      properties: { signingKey: { type: "string", minLength: 16, description: "Shared with the receiver." } },
      required: ["signingKey"],
      additionalProperties: false,
    },
    tools: list.hooks.map((hook) => ({
      id: hook.id,
      name: hook.id,
      description: hook.description,
      inputSchema: hook.payload,
      outputSchema: {
        type: "object",
        properties: { status: { type: "integer" }, body: {} },
        required: ["status", "body"],
      },
      destructive: hook.destructive,
      // What invoke needs to know again. Stored in plain text: never a secret.
      adapterDomain: hook,
    })),
    adapterDomain: null,
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function text(value: unknown, at: string, fallback?: string): string {
  if (typeof value === "string" && (value !== "" || fallback !== undefined)) return value;
  if (value === undefined && fallback !== undefined) return fallback;
  throw new Error(`${at} must be a text.`);
}
