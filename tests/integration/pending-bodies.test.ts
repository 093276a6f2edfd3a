/** Bodies that are sent and never end: what they hold in memory is bounded for each key and for all, and given back. */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Caller, type GovernanceServer, startGovernanceServer } from "./governance-server.ts";
import { until } from "./processes-server.ts";

const MIB = 1024 ** 2;
const SCOPES = ["processes:read", "processes:write"];
const MAX_PENDING_BYTES = 8 * MIB;

let governance: GovernanceServer;
const keys: Caller[] = [];

beforeAll(async () => {
  governance = await startGovernanceServer({
    environment: {
      CYRNEL_MAX_PENDING_BODY_BYTES: String(MAX_PENDING_BYTES),
      CYRNEL_REQUEST_TIMEOUT_MS: "8000",
    },
  });
  for (let n = 0; n < 4; n += 1) keys.push(await governance.makeKey({ scopes: SCOPES }));
});
afterAll(() => governance[Symbol.asyncDispose]());

interface Unfinished extends Disposable {
  /** The answer so far. */
  read(): string;
  closed: Promise<void>;
  socket: Socket;
}

const PIECE = Buffer.alloc(64 * 1024, "x");

/** Sends a request without the last bytes of its body. `chunked`: each byte of the body as a chunk. */
async function begin(
  key: string | null,
  bytes: number,
  { missing = 1, chunked = false } = {},
): Promise<Unfinished> {
  const { hostname, port } = new URL(governance.server.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  let answer = "";
  socket.setEncoding("latin1").on("data", (text) => {
    answer += text;
  });
  const head = [
    "POST /processes HTTP/1.1",
    `Host: ${hostname}`,
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    "Content-Type: application/json",
    chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${bytes}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  if (chunked) socket.write("1\r\nx\r\n".repeat(bytes));
  else
    for (let sent = missing; sent < bytes; sent += PIECE.length)
      socket.write(PIECE.subarray(0, bytes - sent));
  return {
    socket,
    read: () => answer,
    closed: new Promise<void>((resolve) => socket.once("close", () => resolve())),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

const submit = (caller: Caller) => caller.send("POST", "/processes", { code: "x", autorun: false });
const hasStatus = (status: number) => (request: Unfinished) =>
  request.read().startsWith(`HTTP/1.1 ${status} `);

test("a key holds half at most and is told 429, other keys go on, and what ended gives its part back", async () => {
  const [greedy, other] = keys as [Caller, Caller];
  const requests = await Promise.all(Array.from({ length: 20 }, () => begin(greedy.key, MIB)));
  const isPending = ({ socket, read }: Unfinished) => !socket.destroyed && read() === "";
  await until("what is beyond its half is refused", () => requests.filter(isPending).length <= 4);
  expect(requests.filter(isPending).length).toBeGreaterThan(0);
  const refused = requests.find(hasStatus(429))?.read() ?? "";
  expect(refused).toContain('"code":"too_many_bodies"');
  expect(refused).toMatch(/\r\nretry-after: \d+\r\n/);
  expect((await submit(other)).status).toBe(201);
  for (const request of requests) request[Symbol.dispose]();
  await until("its part is free again", async () => {
    using again = await begin(greedy.key, 2 * MIB);
    await sleep(100);
    return again.read() === "";
  });
  expect((await submit(greedy)).status).toBe(201);
});

test("all keys together are told 503 when everything is held", async () => {
  const requests = (
    await Promise.all(keys.map(({ key }) => Promise.all([1, 2, 3, 4].map(() => begin(key, MIB)))))
  ).flat();
  await until("some are refused", () => requests.some((request) => request.read() !== ""));
  await sleep(200);
  const refused = requests.filter((request) => request.read() !== "");
  for (const request of refused) {
    expect(request.read()).toMatch(/^HTTP\/1\.1 (429|503) [\s\S]*"code":"(too_many_bodies|server_busy)"/);
  }
  expect(requests.length - refused.length).toBeLessThanOrEqual(8);
  for (const request of requests) request[Symbol.dispose]();
  await until("there is room again", async () => (await submit(keys[0] as Caller)).status === 201);
});

test("a body of single bytes is counted with what each of them costs", async () => {
  using request = await begin((keys[0] as Caller).key, 50_000, { chunked: true });
  await until("it is refused", () => hasStatus(429)(request));
});

test("a body that trickles is cut off in time, and its part is free", async () => {
  const { key } = keys[0] as Caller;
  using request = await begin(key, 1_000_000, { missing: 10_000 });
  const trickle = setInterval(() => request.socket.write("x"), 100);
  // Also for a client that never closes its side.
  request.socket.allowHalfOpen = true;
  await request.closed;
  clearInterval(trickle);
  expect(request.read()).toMatch(/^HTTP\/1\.1 408 /);
}, 20_000);

test("a refused body is read on for no longer than some seconds", async () => {
  for (const [key, status] of [
    [null, 401],
    ["wrong", 401],
    [keys[0]?.key ?? "", 413],
  ] as const) {
    const startedMs = performance.now();
    using request = await begin(key, status === 413 ? 100 * MIB : MIB);
    const trickle = setInterval(() => request.socket.write("x"), 50);
    await until("it is refused", () => hasStatus(status)(request));
    await request.closed;
    clearInterval(trickle);
    expect(performance.now() - startedMs).toBeLessThan(6000);
  }
}, 30_000);
