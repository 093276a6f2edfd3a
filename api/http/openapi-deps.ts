/** Dependencies for building the app only to describe it: registering routes uses none of them, serving would throw. */
import type { FastifyBaseLogger } from "fastify";
import type { AppDeps } from "../app.ts";
import { createLifecycle } from "./lifecycle.ts";

export function describeOnly(logger: FastifyBaseLogger): AppDeps {
  return {
    logger,
    lifecycle: createLifecycle(),
    readiness: [],
    database: { reachable: true },
    processes: unused("processes"),
    modules: unused("modules"),
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
