/** Reads security schemes and requirements, and describes the secrets that can be set, one property per scheme. */

import { type Fields, isRecord, own, ownRecord, ownText } from "#kernel/foreign-json.ts";
import type { JSONSchema } from "#sdk";
import type { SchemePlan, SecurityPlan } from "../domain.ts";
import { addNote } from "./schemas/keywords.ts";
import type { References } from "./schemas/references.ts";

const HEADERS_SCHEME: SchemePlan = { kind: "headers", name: "headers" };

export interface DocumentSecurity {
  schemes: SchemePlan[];
  secretsSchema: JSONSchema;
  security: SecurityPlan;
}

export function readSecurity(
  document: Fields,
  references: References,
  operations: Fields[],
): DocumentSecurity {
  const declared = Object.entries(ownRecord(ownRecord(document, "components"), "securitySchemes") ?? {});
  const schemes: SchemePlan[] = [];
  const properties: [string, JSONSchema][] = [];
  for (const [name, value] of declared) {
    const scheme = references.follow(value);
    if (scheme === undefined) continue;
    const plan = readScheme(name, scheme);
    schemes.push(plan);
    const schema = describeSecret(plan, scheme);
    if (schema !== undefined) properties.push([name, schema]);
  }
  if (declared.length === 0) {
    schemes.push(HEADERS_SCHEME);
    properties.push([HEADERS_SCHEME.name, HEADERS_SECRET]);
  }
  return {
    schemes,
    secretsSchema: {
      type: "object",
      properties: Object.fromEntries(properties),
      additionalProperties: false,
    },
    security: readDefault(document, operations, schemes),
  };
}

/** If a document declares schemes but never requires one, all are allowed, and those with a secret are used. */
function readDefault(document: Fields, operations: Fields[], schemes: SchemePlan[]): SecurityPlan {
  const required = readRequirements(own(document, "security"));
  if (required !== undefined) return required;
  if (operations.some((operation) => readRequirements(own(operation, "security")) !== undefined)) return [];
  const usable = schemes.filter(({ kind }) => kind !== "unsupported");
  return usable.length === 0 ? [] : [...usable.map(({ name }) => [{ scheme: name }]), []];
}

/**
 * Returns undefined without a `security` list. Keeps its order, except that an empty requirement ("or no
 * credentials") comes last, so that configured credentials are used.
 */
export function readRequirements(value: unknown): SecurityPlan | undefined {
  if (!Array.isArray(value)) return undefined;
  const alternatives = value.filter(isRecord).map((requirement) =>
    Object.entries(requirement).map(([scheme, scopes]) => {
      const texts = Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === "string") : [];
      return texts.length === 0 ? { scheme } : { scheme, scopes: texts };
    }),
  );
  const [anonymous, needing] = [
    alternatives.filter((needed) => needed.length === 0),
    alternatives.filter((needed) => needed.length > 0),
  ];
  return [...needing, ...anonymous.slice(0, 1)];
}

function readScheme(name: string, scheme: Fields): SchemePlan {
  const type = ownText(scheme, "type")?.toLowerCase();
  const unsupported = (what: string): SchemePlan => ({ kind: "unsupported", name, what });
  switch (type) {
    case "apikey": {
      const place = ownText(scheme, "in");
      const parameter = ownText(scheme, "name");
      if (parameter === undefined || (place !== "header" && place !== "query" && place !== "cookie")) {
        return unsupported("an apiKey without a usable name or place");
      }
      return { kind: "apiKey", name, in: place, parameter };
    }
    case "http": {
      const http = ownText(scheme, "scheme")?.toLowerCase();
      if (http === "bearer" || http === "basic") return { kind: http, name };
      return unsupported(`HTTP authentication ${JSON.stringify(http ?? "")}`);
    }
    case "oauth2": {
      const tokenUrl = ownText(ownRecord(ownRecord(scheme, "flows"), "clientCredentials"), "tokenUrl");
      return tokenUrl === undefined ? { kind: "oauth2", name } : { kind: "oauth2", name, tokenUrl };
    }
    case "openidconnect":
      return { kind: "bearer", name };
    default:
      return unsupported(`a scheme of the type ${JSON.stringify(type ?? "")}`);
  }
}

function describeSecret(plan: SchemePlan, scheme: Fields): JSONSchema | undefined {
  const schema = secretSchema(plan);
  if (schema === undefined) return undefined;
  const description = ownText(scheme, "description");
  if (description !== undefined && description.trim() !== "") addNote(schema, description.slice(0, 2000));
  return schema;
}

function secretSchema(plan: SchemePlan): JSONSchema | undefined {
  switch (plan.kind) {
    case "apiKey":
      return {
        type: "string",
        description: `Sent as the ${plan.in} parameter ${JSON.stringify(plan.parameter)}.`,
      };
    case "bearer":
      return { type: "string", description: "A token, sent as Authorization: Bearer." };
    case "basic":
      return {
        type: "object",
        description: "User name and password, sent as Authorization: Basic.",
        properties: { username: { type: "string" }, password: { type: "string" } },
        required: ["username", "password"],
        additionalProperties: false,
      };
    case "oauth2":
      return oauth2Secret(plan.tokenUrl);
    default:
      return undefined;
  }
}

function oauth2Secret(tokenUrl: string | undefined): JSONSchema {
  const accessToken = { type: "string", description: "A token that you obtained elsewhere, sent unchanged." };
  if (tokenUrl === undefined) {
    return {
      type: "object",
      properties: { accessToken },
      required: ["accessToken"],
      additionalProperties: false,
    };
  }
  return {
    type: "object",
    description: `Client credentials, exchanged for tokens at ${tokenUrl}; or a token.`,
    properties: {
      clientId: { type: "string" },
      clientSecret: { type: "string" },
      scope: { type: "string", description: "Scopes to request instead of those that the operations name." },
      accessToken,
    },
    anyOf: [{ required: ["clientId", "clientSecret"] }, { required: ["accessToken"] }],
    additionalProperties: false,
  };
}

const HEADERS_SECRET: JSONSchema = {
  type: "object",
  description:
    'The document names no credentials. Headers set here are sent with every request, for example {"Authorization": "Bearer …"}.',
  additionalProperties: { type: "string" },
};
