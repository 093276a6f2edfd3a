/** The HTTP layer alone, built by the real buildApp from a configuration as a person would set it. */
import { PassThrough } from "node:stream";
import { pino } from "pino";
import { type AppDeps, buildApp } from "#api/app.ts";
import { type Config, parseConfig } from "#api/config.ts";
import type { App } from "#api/http/app-type.ts";
import { describeOnly } from "#api/openapi-main.ts";

export const TEST_KEY = "test-key-0123456789-abcdefghij";

/** Parses variables the way the server does; throws with all problems. */
export function testConfig(environment: Record<string, string> = {}): Config {
  const result = parseConfig(environment);
  if (!result.ok) throw new Error(result.problems.join("\n"));
  return result.config;
}

export interface HttpAppOptions {
  environment?: Record<string, string>;
  deps?: Partial<AppDeps>;
  /** Adds routes before the app is ready. */
  routes?: (app: App) => void;
}

/** Ready for `inject`; close it after the test. Features that are not given refuse every use. */
export async function buildHttpApp(options: HttpAppOptions = {}): Promise<App> {
  const app = await buildApp(testConfig(options.environment), {
    ...describeOnly(pino({ level: "silent" }, new PassThrough())),
    ...options.deps,
  });
  options.routes?.(app);
  await app.ready();
  return app;
}
