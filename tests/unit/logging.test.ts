/** What modules throw may be made to break whoever reads it: the logger writes a line all the same. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createLogger } from "#api/http/logging.ts";

const refuse = () => {
  throw new Error("do not look at me");
};
const withGetter = (target: object, name: string) =>
  Object.defineProperty(target, name, { get: refuse, enumerable: true });

const HOSTILE: Record<string, () => unknown> = {
  "a message that throws": () => withGetter(new Error("x"), "message"),
  "a stack that throws": () => withGetter(new Error("x"), "stack"),
  "a member that throws when secrets are looked for": () =>
    Object.assign(new Error("x"), { details: withGetter({}, "password") }),
  "a cause that throws": () => new Error("x", { cause: withGetter(new Error("y"), "message") }),
  "a proxy that throws at every look": () =>
    new Proxy(new Error("x"), { get: refuse, getPrototypeOf: refuse, ownKeys: refuse, has: refuse }),
  "a text that cannot be made": () => ({ message: { toString: refuse } }),
  "a toJSON that throws": () => Object.assign(new Error("x"), { inner: { toJSON: refuse } }),
};

test.each(Object.entries(HOSTILE))("%s", (_name, make) => {
  const stream = new PassThrough();
  const logger = createLogger({ logLevel: "info", apiKey: null, databaseUrl: null }, { stream });
  logger.child({ module: "hostile" }).error({ err: make() }, "a module failed");
  const [line, ...others] = String(stream.read()).trim().split("\n");
  expect(others).toEqual([]);
  expect(JSON.parse(line ?? "")).toMatchObject({ level: "error", module: "hostile", msg: "a module failed" });
});
