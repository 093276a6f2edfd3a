/** Clients that only connect, clients that leave, and a process that may open few files. */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { makeDataDirectory, startMain } from "./harness/main-process.ts";

const KEY = "a-key-of-this-test-0123456789";

async function connectTo(url: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  return Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve) => {
          const socket = connect(Number(port), hostname, () => resolve(socket));
          socket.on("error", () => {});
        }),
    ),
  );
}

test("a flood of connections without a request lets others in, and their runs succeed", async () => {
  await using data = await makeDataDirectory();
  const main = startMain({
    environment: { CYRNEL_DATA_DIR: data.path, CYRNEL_API_KEY: KEY },
    maxDescriptors: 256,
  });
  const url = await main.listening();
  const idle = await connectTo(url, 400);
  try {
    const runs = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const answer = await fetch(`${url}/processes`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${KEY}` },
          body: JSON.stringify({ code: `return ${index}`, block: true }),
        });
        return { status: answer.status, body: await answer.json() };
      }),
    );
    expect(runs.map(({ status, body }) => [status, body.reason, body.result])).toEqual(
      runs.map((_, index) => [201, "ok", index]),
    );
  } finally {
    for (const socket of idle) socket.destroy();
  }
  main.child.kill("SIGTERM");
  expect(await main.ended()).toBe(0);
});

test("a client that leaves in the middle of a body is no error in the log", async () => {
  await using data = await makeDataDirectory();
  const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path, LOG_LEVEL: "debug" } });
  const url = await main.listening();
  for (const leave of ["destroy", "resetAndDestroy"] as const) {
    for (const route of ["/processes", "/services"]) {
      const [socket] = (await connectTo(url, 1)) as [Socket];
      socket.write(
        `POST ${route} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"code":`,
      );
      await sleep(100);
      socket[leave]();
    }
  }
  await expect
    .poll(() => main.stdout().split("the client left before its request was complete").length - 1)
    .toBe(4);
  expect(main.stdout()).not.toContain('"level":"error"');
  main.child.kill("SIGTERM");
  expect(await main.ended()).toBe(0);
});

test.each([
  ["an empty", true],
  ["a used", false],
])(
  "where few files may be open, a start on %s data folder ends and names the limit",
  async (_which, empty) => {
    await using data = await makeDataDirectory({ empty });
    const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path }, maxDescriptors: 64 });
    expect(await main.ended()).toBe(1);
    expect(main.stderr()).toContain(
      "Cannot start: this process may have only 64 files and connections open at once",
    );
    expect(main.stderr()).toContain("ulimit -n");
  },
);

test("SIGQUIT stops in order, SIGUSR2 changes nothing", async () => {
  await using data = await makeDataDirectory();
  const main = startMain({ environment: { CYRNEL_DATA_DIR: data.path } });
  const url = await main.listening();
  main.child.kill("SIGUSR2");
  await sleep(200);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  main.child.kill("SIGQUIT");
  expect(await main.ended()).toBe(0);
  expect(main.stderr()).toContain("SIGQUIT: stopping");
  expect(await data.postgresPid()).toBe(null);
});
