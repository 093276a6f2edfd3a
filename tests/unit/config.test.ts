import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { formatConfigurationPage } from "#api/config/page.ts";
import { CONFIG_VARIABLES } from "#api/config/variables.ts";
import { formatProblems, isLoopbackHost, parseConfig } from "#api/config.ts";

const KEY = "k3y-of-tests-0123456789abcdef";

function problemsOf(environment: Record<string, string>): string[] {
  const result = parseConfig(environment);
  return result.ok ? [] : result.problems;
}

test("an empty environment is a working configuration with the documented defaults", () => {
  const result = parseConfig({});
  expect(result).toMatchObject({
    ok: true,
    config: {
      port: 9371,
      host: "127.0.0.1",
      databaseUrl: null,
      apiKey: null,
      isolation: "strict",
      maxActiveProcesses: 1000,
      maxCodeSizeBytes: 102_400,
      maxStdoutBytes: 1_048_576,
      maxStderrBytes: 1_048_576,
      maxTimeoutMs: null,
      maxCpuMs: null,
      invokeTimeoutMs: 30_000,
      retentionDays: null,
      retentionMax: null,
      rateLimit: null,
      shutdownTimeoutMs: 10_000,
      logLevel: "info",
    },
  });
  expect(result.ok && Object.isFrozen(result.config)).toBe(true);
  expect(result.ok && result.config.dataDirectory.endsWith("/.cyrnel")).toBe(true);
});

test("an empty variable counts as unset", () => {
  expect(parseConfig({ PORT: "", CYRNEL_API_KEY: "  ", DATABASE_URL: "" })).toMatchObject({
    ok: true,
    config: { port: 9371, apiKey: null, databaseUrl: null },
  });
});

test("all problems are reported at once, by name", () => {
  const problems = problemsOf({
    PORT: "99999",
    CYRNEL_MAX_CODE_SIZE_BYTES: "12abc",
    SHUTDOWN_TIMEOUT_MS: "-1",
    LOG_LEVEL: "loud",
    DATABASE_URL: "mysql://root:hunter2@db/x",
    CYRNEL_API_KEY: "short",
    CYRNEL_RATE_LIMIT_MAX: "10",
  });
  for (const name of [
    "PORT",
    "CYRNEL_MAX_CODE_SIZE_BYTES",
    "SHUTDOWN_TIMEOUT_MS",
    "LOG_LEVEL",
    "DATABASE_URL",
    "CYRNEL_API_KEY",
    "CYRNEL_RATE_LIMIT_MAX",
  ]) {
    expect(problems.filter((problem) => problem.startsWith(name))).not.toEqual([]);
  }
  const message = formatProblems(problems);
  expect(message).toContain(`${problems.length} problems`);
  expect(message).not.toContain("hunter2");
});

test.each(["0.0.0.0", "::", "192.168.1.5", "build-host"])(
  "listening on %s without a key is refused with the way out",
  (host) => {
    const [problem] = problemsOf({ HOST: host });
    expect(problem).toMatch(/^HOST: /);
    expect(problem).toContain("CYRNEL_API_KEY");
    expect(problem).toContain("127.0.0.1");
    expect(parseConfig({ HOST: host, CYRNEL_API_KEY: KEY }).ok).toBe(true);
  },
);

test.each(["127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST"])("%s needs no key", (host) => {
  expect(isLoopbackHost(host)).toBe(true);
  expect(parseConfig({ HOST: host }).ok).toBe(true);
});

test.each(["127.0.0.1.example.com", "1270.0.0.1", "localhost.example.com", "0.0.0.0", "::ffff:10.0.0.1"])(
  "%s is not loopback",
  (host) => {
    expect(isLoopbackHost(host)).toBe(false);
  },
);

test("a wrong key is reported as a wrong key only, not as a missing one", () => {
  const problems = problemsOf({ HOST: "0.0.0.0", CYRNEL_API_KEY: "password" });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain("24 characters");
});

test.each([
  ["too short", "abcdefghij0123456789abc"],
  ["one letter", "a".repeat(64)],
  ["a short word repeated", "secret".repeat(6)],
  ["with a space", "abcdefghijklmnop qrstuvwxyz"],
])("a weak API key is refused: %s", (_name, key) => {
  expect(problemsOf({ CYRNEL_API_KEY: key })).not.toEqual([]);
});

test.each(["1e3", "0x10", "1.5", " ", "+5", "١٢", "99999999999999999999"])("%j is not a port", (port) => {
  if (port.trim() === "") expect(parseConfig({ PORT: port }).ok).toBe(true);
  else expect(problemsOf({ PORT: port })).toHaveLength(1);
});

test("a time of 0 means no maximum where the description says so", () => {
  const result = parseConfig({
    CYRNEL_MAX_TIMEOUT_MS: "0",
    CYRNEL_MAX_CPU_MS: "5000",
    CYRNEL_RETENTION_DAYS: "30",
  });
  expect(result).toMatchObject({
    ok: true,
    config: { maxTimeoutMs: null, maxCpuMs: 5000, retentionDays: 30 },
  });
});

test("docs/configuration.md is what the schema says", async () => {
  const page = await readFile(new URL("../../docs/configuration.md", import.meta.url), "utf8");
  expect(page).toBe(formatConfigurationPage());
  for (const name of Object.keys(CONFIG_VARIABLES)) expect(page).toContain(`\`${name}\``);
});

test.each(["strict", "standard", "development"])("isolation level %s is taken by name", (level) => {
  expect(parseConfig({ CYRNEL_ISOLATION: level }, "linux")).toMatchObject({
    ok: true,
    config: { isolation: level },
  });
});

test("level development is for loopback only, whatever else is wrong", () => {
  const environment = { CYRNEL_ISOLATION: "development", HOST: "0.0.0.0", CYRNEL_API_KEY: KEY, PORT: "x" };
  const problems = problemsOf(environment);
  expect(problems).toHaveLength(2);
  expect(problems.find((problem) => problem.startsWith("CYRNEL_ISOLATION"))).toContain("127.0.0.1");
  expect(problemsOf({ ...environment, PORT: "1", HOST: "127.0.0.1" })).toEqual([]);
});

test.each(["darwin", "win32"])(
  "on %s the start is refused unless the lowest level is asked for",
  (platform) => {
    const refused = parseConfig({}, platform);
    expect(refused.ok ? [] : refused.problems).toEqual([
      expect.stringMatching(/^CYRNEL_ISOLATION: strict needs Linux.*CYRNEL_ISOLATION=development/),
    ]);
    expect(parseConfig({ CYRNEL_ISOLATION: "development" }, platform).ok).toBe(true);
  },
);

test("an unknown isolation level is refused, not replaced", () => {
  expect(problemsOf({ CYRNEL_ISOLATION: "none" })).toEqual([
    "CYRNEL_ISOLATION: expected strict, standard or development",
  ]);
});
