/** Dependencies for building the app only to describe it: registering routes uses none of them, serving would throw. */
import type { FastifyBaseLogger } from "fastify";
import type { AppDeps } from "#api/app.ts";
import { createMetrics } from "#api/observe/metrics.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createLifecycle } from "../guards.ts";

export function describeOnly(logger: FastifyBaseLogger): AppDeps {
  return {
    logger,
    lifecycle: createLifecycle(),
    readiness: [],
    metrics: createMetrics(),
    database: { watch: { reachable: true } },
    logs: unused("logs"),
    processes: unused("processes"),
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
      // The only part that every changing request uses: so the HTTP layer can be tried by itself.
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
