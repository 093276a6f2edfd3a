import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AppError } from "#api/errors.ts";
import { createLogger } from "#api/http/logging.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { buildHttpApp } from "./harness/http-app.ts";
import { createTools } from "./harness/tools.ts";
import {
  type ProcessesServer,
  runScript,
  send,
  startProcessesServer,
  submit,
  until,
} from "./processes-server.ts";

const SECRET = 'sk-"plänted"/secret+4711';
const MARK = "[secret]";
const hex = (text: string | Buffer) => Buffer.from(text).toString("hex");

const redactor = createRedactor();
redactor.setOwner("service:github", { token: SECRET, pin: 8822446688 });

let database: TestDatabase;
let server: ProcessesServer;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await startProcessesServer({
    databaseUrl: database.url,
    redactor,
    tools: createTools(async ({ toolId }) => {
      if (toolId === "fail") throw new Error(`upstream said: bad token ${SECRET}`);
      return { echoed: SECRET, pin: 8822446688, [SECRET]: [encodeURIComponent(SECRET)] };
    }),
  });
});
afterAll(async () => {
  await server.stop();
  await database.drop();
});

describe("what a run reports is kept without secrets", () => {
  test("standard output and error, also split in the middle, also unfinished", async () => {
    const bytes = Buffer.from(`a ${SECRET} b`);
    const [left, right] = [bytes.subarray(0, 9), bytes.subarray(9)];
    const record = await runScript(
      server,
      [
        `hex stdout ${hex(left)}`,
        `hex stdout ${hex(right)}`,
        `hex stderr ${hex(bytes)}`,
        `hex stderr ${hex(SECRET.slice(0, 7))}`,
      ].join("\n"),
    );
    expect(record.stdout).toBe(`a ${MARK} b`);
    expect(record.stderr).toBe(`a ${MARK} b${SECRET.slice(0, 7)}`);
  });

  test("output and result, by value, by name and as a number", async () => {
    const record = await runScript(
      server,
      `output ${JSON.stringify({ [SECRET]: 1, deep: [{ url: `https://x/?t=${encodeURIComponent(SECRET)}` }] })}\noutput {"pin":8822446688}\nreturn ${JSON.stringify([SECRET, 8822446688])}`,
    );
    expect(record.output).toEqual({ [MARK]: 1, deep: [{ url: `https://x/?t=${MARK}` }], pin: MARK });
    expect(record.result).toEqual([MARK, MARK]);
  });

  test("errors: name, message and stack", async () => {
    const error = { name: SECRET, message: `no ${SECRET}`, stack: `Error: ${SECRET}\n  at x` };
    const record = await runScript(server, `error ${JSON.stringify(error)}\nend failed`);
    expect(record).toMatchObject({
      error: `no ${MARK}`,
      errorDetail: { name: MARK, message: `no ${MARK}`, stack: `Error: ${MARK}\n  at x` },
    });
  });

  test("the call trail: parameters, result, error", async () => {
    const id = await submit(
      server,
      `call github echo ${JSON.stringify({ q: SECRET })}\ncall github fail {}\ncall ${encodeURIComponent(SECRET)} x {}`,
    );
    await until(
      "it has ended",
      async () => (await send(server, "GET", `/processes/${id}`)).body.state === "idle",
    );
    const { body } = await send<{ calls: unknown[] }>(server, "GET", `/processes/${id}/calls`);
    expect(body.calls).toMatchObject([
      { parameters: { q: MARK }, result: { echoed: MARK, pin: MARK, [MARK]: [MARK] } },
      { error: `upstream said: bad token ${MARK}` },
      { serviceId: MARK },
    ]);
  });

  test("a secret at the edge of what is kept is cut off whole", async () => {
    const limited = await startProcessesServer({
      databaseUrl: database.url,
      redactor,
      variables: { CYRNEL_MAX_STDOUT_BYTES: "1000" },
    });
    try {
      const record = await runScript(
        limited,
        `hex stdout ${hex("x".repeat(995))}\nhex stdout ${hex(`${SECRET}${"y".repeat(50)}`)}`,
      );
      expect(record.stdout).not.toContain("sk-");
      expect(record.stdout.startsWith(`${"x".repeat(995)}${MARK.slice(0, 5)}\n[stdout truncated`)).toBe(true);
    } finally {
      await limited.stop();
    }
  });

  test("what is cut off is said to be, although secrets took less room afterwards", async () => {
    const limited = await startProcessesServer({
      databaseUrl: database.url,
      redactor,
      variables: { CYRNEL_MAX_STDOUT_BYTES: "1000" },
    });
    try {
      const line = Buffer.from(`${SECRET}\n`);
      const lines = Math.ceil(1001 / line.length);
      const sent = Buffer.concat(Array.from({ length: lines }, () => line)).subarray(0, 1001);
      const record = await runScript(limited, `hex stdout ${hex(sent)}`);
      expect(record.truncated.stdout).toBe(true);
      expect(record.stdout).toMatch(/\[stdout truncated: more than 1000 bytes\]\n$/);
      expect(record.stdout).not.toContain("sk-");
      const whole = sent.subarray(0, (lines - 1) * line.length);
      const within = await runScript(limited, `hex stdout ${hex(whole)}`);
      expect(within.truncated.stdout).toBe(false);
    } finally {
      await limited.stop();
    }
  });

  test("live events and a running record, before the run has ended", async () => {
    const id = await submit(
      server,
      `print before ${SECRET} after\noutput ${JSON.stringify({ a: SECRET })}\ngate secrets-live`,
    );
    const controller = new AbortController();
    const response = await fetch(`${server.url}/processes/${id}/events`, { signal: controller.signal });
    let seen = "";
    for await (const chunk of response.body ?? []) {
      seen += Buffer.from(chunk).toString("utf8");
      if (seen.includes("event: output")) server.environment.open("secrets-live");
    }
    expect(seen).toContain(`before ${MARK} after`);
    expect(seen).toContain(`{"a":"${MARK}"}`);
    expect(seen).not.toContain("plänted");
  });

  test("nothing of it is in any table", async () => {
    const [row] = await database.pool<{ all: string }[]>`
      select string_agg(concat_ws('|', convert_from(stdout, 'utf8'), convert_from(stderr, 'utf8'), output, result, error_detail), '|') as all
      from process_results`;
    const calls = await database.pool`select * from tool_calls`;
    for (const text of [row?.all ?? "", JSON.stringify(calls)]) {
      expect(text).toContain(MARK);
      for (const form of ["plänted", "pl%C3%A4nted", "8822446688"]) expect(text).not.toContain(form);
    }
  });
});

test("log lines: fields, messages, errors with causes and stacks", () => {
  const lines: string[] = [];
  const stream = new PassThrough();
  stream.setEncoding("utf8").on("data", (line: string) => lines.push(line));
  const apiKey = "api-key-0123456789-abcdefghij";
  const logger = createLogger({ logLevel: "trace", apiKey, databaseUrl: null }, { stream, redactor });
  const cause = Object.assign(new Error(`inner ${SECRET}`), {
    headers: { authorization: `Bearer ${SECRET}` },
    body: SECRET,
  });
  logger.info(
    { url: `https://x/?t=${encodeURIComponent(SECRET)}`, pin: 8822446688 },
    `calling with ${SECRET} and ${apiKey}`,
  );
  logger.error({ err: new Error(`outer ${SECRET}`, { cause }) }, "failed");
  logger.child({ module: SECRET }).warn({ nested: { deep: [Buffer.from(SECRET).toString("base64")] } });
  const text = lines.join("");
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(JSON.parse(line)).toHaveProperty("level");
  expect(text).toContain(MARK);
  for (const form of [
    "plänted",
    "pl%C3%A4nted",
    "8822446688",
    Buffer.from(SECRET).toString("base64").slice(0, 20),
    apiKey,
  ]) {
    expect(text).not.toContain(form);
  }
});

test("error answers: the sentence and the issues", async () => {
  const app = await buildHttpApp({
    deps: { redactor },
    routes: (given) => {
      given.get("/planted", { config: { public: true } }, async () => {
        throw new AppError("invalid_request", `no ${SECRET}`, {
          issues: [{ path: `secrets.${SECRET}`, message: `is ${encodeURIComponent(SECRET)}` }],
        });
      });
    },
  });
  try {
    const answer = await app.inject({ method: "GET", url: "/planted", headers: { host: "127.0.0.1" } });
    expect(answer.json()).toMatchObject({
      error: `no ${MARK}`,
      issues: [{ path: `secrets.${MARK}`, message: `is ${MARK}` }],
    });
  } finally {
    await app.close();
  }
});
