/**
 * Writes docs/openapi.json from the registered routes; `--check` compares instead. Needs neither server nor database.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { FastifyBaseLogger } from "fastify";
import { pino } from "pino";
import { type AppDeps, buildApp } from "#api/app.ts";
import { parseConfig } from "#api/config.ts";
import { createLifecycle } from "#api/http/guards.ts";
import { createMetrics } from "#api/observe/metrics.ts";
import { createRedactor } from "#api/secrets/redactor.ts";

const MAX_LINE_CHARACTERS = 120;
const FILE = fileURLToPath(new URL("../docs/openapi.json", import.meta.url));

export async function printOpenApiDocument(): Promise<string> {
  const parsed = parseConfig({});
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  const app = await buildApp(parsed.config, describeOnly(pino({ level: "silent" })));
  await app.ready();
  try {
    return `${printJson(app.swagger())}\n`;
  } finally {
    await app.close();
  }
}

/** Prints each value on one line if it fits, so that the file is readable and diffs are small. */
function printJson(value: unknown, indent = "", room = MAX_LINE_CHARACTERS): string {
  const line = JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
  if (line.length <= room || value === null || typeof value !== "object") return line;
  const inner = `${indent}  `;
  const lines = Object.entries(value).map(([name, member]) => {
    const key = Array.isArray(value) ? inner : `${inner}${JSON.stringify(name)}: `;
    return key + printJson(member, inner, MAX_LINE_CHARACTERS - key.length - 1);
  });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

/**
 * Dependencies for building the app only to describe it. Registering routes uses none of them; serving would throw.
 */
export function describeOnly(logger: FastifyBaseLogger): AppDeps {
  return {
    logger,
    lifecycle: createLifecycle(),
    readiness: [],
    metrics: createMetrics(),
    database: { watch: { reachable: true } },
    logs: unused("logs"),
    processes: unused("processes"),
    files: unused("files"),
    packages: unused("packages"),
    modules: unused("modules"),
    redactor: createRedactor(),
    services: unused("services"),
    settings: unused("settings"),
    tools: unused("tools"),
    approvals: unused("approvals"),
    roster: unused("roster"),
    access: {
      verifier: unused("verifier"),
      keys: unused("keys"),
      roles: unused("roles"),
      policies: unused("policies"),
      gate: unused("gate"),
      trail: unused("trail"),
      // Every modifying request uses this part, so that tests can try the HTTP layer alone.
      audit: { admit: async () => {}, record: () => {}, recordStored: async () => {} },
    },
  };
}

function unused<T extends object>(name: string): T {
  return new Proxy({} as T, {
    get(_target, property) {
      throw new Error(
        `The app was built only to be described: ${name}.${String(property)} must not be used.`,
      );
    },
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const document = await printOpenApiDocument();
  if (!process.argv.includes("--check")) await writeFile(FILE, document);
  else if ((await readFile(FILE, "utf8").catch(() => "")) !== document) {
    console.error("docs/openapi.json does not match the routes. Run: node api/openapi-main.ts");
    process.exitCode = 1;
  }
}
