/** Both places that contents lie in, with servers that are processes of their own, which end by SIGKILL. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import path from "node:path";
import { ReadableStream } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  ListObjectsV2Command,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createBucket } from "#api/files/contents/bucket.ts";
import { createContents } from "#api/files/contents/contents.ts";
import { sweepFiles } from "#api/files/sweep.ts";
import { STARTER_SET } from "#runner/packages/starter.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { startMain } from "./harness/main-process.ts";

const BUCKET = "s3://files/cyrnel/tests";
const FAUXQS = path.resolve(import.meta.dirname, "../node_modules/fauxqs/dist/cli.js");
const MIB = 1024 * 1024;
/** V8 lets 64 MiB of buffers that nothing refers to any more gather: less than this says nothing of what is held. */
const LARGEST_MIB = 128;
const log = { info() {}, warn() {} };

const Bucket = "files";
let client: S3Client;
let s3: ChildProcess;
let s3Environment: Record<string, string>;

beforeAll(async () => {
  const port = await findPort();
  s3 = spawn(process.execPath, [FAUXQS], {
    stdio: "ignore",
    env: { FAUXQS_PORT: String(port), FAUXQS_HOST: "127.0.0.1", FAUXQS_LOGGER: "false" },
  });
  s3Environment = {
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
  };
  // The client library reads them where this process uses the bucket itself.
  Object.assign(process.env, s3Environment);
  const isUp = () => fetch(s3Environment.AWS_ENDPOINT_URL_S3 as string).catch(() => null);
  while ((await isUp()) === null && s3.exitCode === null) await sleep(50);
  client = new S3Client({ forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket }));
});
afterAll(() => {
  client.destroy();
  for (const name of Object.keys(s3Environment)) delete process.env[name];
  s3.kill("SIGKILL");
});

function findPort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

async function countBucketBytes(): Promise<number> {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
  return Contents.reduce((bytes, { Size = 0 }) => bytes + Size, 0);
}

describe.each(["Postgres", "a bucket"])("in %s", (place) => {
  const isBucket = place === "a bucket";
  let database: TestDatabase;
  let one: string;

  async function start() {
    const main = startMain({
      environment: {
        DATABASE_URL: database.url,
        SHUTDOWN_TIMEOUT_MS: "1000",
        CYRNEL_MAX_FILE_BYTES: String(LARGEST_MIB * MIB),
        ...(isBucket && { CYRNEL_OBJECT_STORE: BUCKET, ...s3Environment }),
      },
    });
    return { main, url: await main.listening() };
  }

  async function startAnother() {
    const started = await start();
    onTestFinished(() => void started.main.child.kill("SIGKILL"));
    return started;
  }

  function contents() {
    return createContents({
      db: database.pool,
      bucket: isBucket
        ? {
            place: BUCKET,
            open: (at) => createBucket(at, { pathStyle: true, attemptTimeoutMs: 10_000, log }),
          }
        : null,
      log,
    });
  }
  const sweep = () => sweepFiles({ pool: database.pool, contents: contents(), ttlDays: 30, log }, 0);

  async function countStored() {
    const [row] = await database.pool<{ blobs: number; contents: number; files: number; chunks: number }[]>`
      select (select count(*) from blobs) as blobs, (select count(*) from contents) as contents,
        (select count(*) from files) as files, (select count(*) from blob_chunks) as chunks`;
    return { ...row, inBucket: isBucket ? await countBucketBytes() : 0 };
  }

  const upload = (url: string, bytes: Uint8Array) =>
    fetch(`${url}/files`, { method: "POST", body: bytes as never, headers: { "content-type": "x/y" } });

  beforeAll(async () => {
    database = await createTestDatabase({ maxConnections: 10 });
    // As if an operator had removed the packages that come along: they would be contents too.
    await database.pool`insert into removed_starters (name) select unnest(${[...STARTER_SET]}::text[])`;
    const { main, url } = await start();
    one = url;
    return async () => {
      main.child.kill("SIGKILL");
      await main.ended();
      await database.drop();
    };
  });

  test.each([0, 1, 300_000, 20 * MIB + 7])("%i bytes come back", async (size) => {
    const bytes = randomBytes(size);
    const response = await upload(one, bytes);
    expect(response.status).toBe(201);
    const { id } = (await response.json()) as { id: string };
    expect(id).toBe(`sha256-${createHash("sha256").update(bytes).digest("hex")}`);
    const back = await fetch(`${one}/files/${id}/content`);
    expect(Buffer.from(await back.arrayBuffer()).equals(bytes)).toBe(true);
    if (size < 100) return;
    const headers = { range: `bytes=${size - 100_000}-${size - 50_001}` };
    const part = await fetch(`${one}/files/${id}/content`, { headers });
    expect(part.status).toBe(206);
    const expected = bytes.subarray(size - 100_000, size - 50_000);
    expect(Buffer.from(await part.arrayBuffer()).equals(expected)).toBe(true);
  });

  test("the same content at two servers at once is stored once, and read at both", async () => {
    const before = await countStored();
    const { main, url: other } = await startAnother();
    const bytes = randomBytes(9 * MIB);
    const answers = await Promise.all([one, other, one, other].map((url) => upload(url, bytes)));
    expect(answers.map(({ status }) => status).sort()[0]).toBeLessThan(202);
    await expect
      .poll(async () => {
        const { blobs, files, inBucket } = await countStored();
        return [blobs, files, Math.round((inBucket - before.inBucket) / MIB)];
      })
      .toEqual([Number(before.blobs) + 1, Number(before.files) + 1, isBucket ? 9 : 0]);
    const { id } = (await (answers[0] as Response).json()) as { id: string };
    for (const url of [one, other]) {
      const back = await fetch(`${url}/files/${id}/content`);
      expect(Buffer.from(await back.arrayBuffer()).equals(bytes)).toBe(true);
    }
    main.child.kill("SIGKILL");
    await main.ended();
  });

  test.runIf(process.platform === "linux")(
    "neither an upload nor a download lies whole in the memory of the server",
    async () => {
      const { main, url } = await startAnother();
      const status = `/proc/${main.child.pid}/status`;
      const read = async (field: string) =>
        Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(await readFile(status, "latin1"))?.[1]) * 1024;
      /** What the server had at most, beyond what it has at first. */
      async function grown(work: () => Promise<unknown>): Promise<number> {
        // Sets VmHWM back (Documentation/filesystems/proc.rst).
        await writeFile(`/proc/${main.child.pid}/clear_refs`, "5");
        const before = await read("VmRSS");
        await work();
        return (await read("VmHWM")) - before;
      }
      async function* pieces(count: number) {
        for (let piece = 0; piece < count; piece++) yield randomBytes(MIB / 4);
      }
      async function send(count: number): Promise<string> {
        const body = ReadableStream.from(pieces(count));
        const answer = await fetch(`${url}/files`, { method: "POST", body, duplex: "half" } as never);
        return ((await answer.json()) as { id: string }).id;
      }
      async function receive(id: string): Promise<number> {
        let bytes = 0;
        const { body } = await fetch(`${url}/files/${id}/content`);
        for await (const piece of body ?? []) bytes += piece.length;
        return bytes;
      }
      // What an upload and a download load and compile.
      await receive(await send(40));
      let id = "";
      const uploading = await grown(async () => {
        id = await send(LARGEST_MIB * 4);
      });
      const downloading = await grown(async () => {
        expect(await receive(id)).toBe(LARGEST_MIB * MIB);
      });
      console.log(
        `a file of ${LARGEST_MIB} MiB, uploaded: ${(uploading / MIB).toFixed(1)} MiB more; downloaded: ${(downloading / MIB).toFixed(1)}`,
      );
      expect(Math.max(uploading, downloading)).toBeLessThan(0.75 * LARGEST_MIB * MIB);
    },
  );

  test("a server that is killed in the middle of an upload leaves nothing after the next sweep", async () => {
    const before = await countStored();
    const third = await startAnother();
    const { hostname, port } = new URL(third.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write(
      `POST /files?name=half HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: ${40 * MIB}\r\n\r\n`,
    );
    socket.write(randomBytes(25 * MIB));
    const findUpload = async () => {
      const [row] = await database.pool<{ id: string; upload: string }[]>`
        select id, upload from blobs where upload is not null and not doomed
          and not exists (select from contents where blob = id)`;
      return row;
    };
    const isUnderWay = async () =>
      isBucket
        ? (await findUpload()) !== undefined
        : ((await countStored()).chunks ?? 0) > (before.chunks ?? 0) + 20;
    await expect.poll(isUnderWay, { timeout: 20_000 }).toBe(true);
    const begun = await findUpload();
    third.main.child.kill("SIGKILL");
    await third.main.ended();
    socket.destroy();
    const { files } = (await (await fetch(`${one}/files?name=half`)).json()) as { files: unknown[] };
    expect(files).toEqual([]);
    expect((await countStored()).blobs).toBe(Number(before.blobs) + 1);
    await sweep();
    expect(await countStored()).toEqual(before);
    if (!isBucket) return;
    const part = {
      Bucket,
      Key: `cyrnel/tests/${begun?.id}`,
      UploadId: begun?.upload,
      PartNumber: 1,
      Body: "x",
    };
    await expect(client.send(new UploadPartCommand(part))).rejects.toMatchObject({ name: "NoSuchUpload" });
  });

  test("a server that is killed while it stores what a run wrote leaves nothing of that after the next sweep", async () => {
    const before = await countStored();
    const third = await startAnother();
    const code = `const piece = crypto.getRandomValues(new Uint8Array(65536));
      for (let n = 0; n < 800; n++) await cyrnel.files.append("half.bin", piece);`;
    const submitted = await fetch(`${third.url}/processes`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
    const { id } = (await submitted.json()) as { id: number };
    const isStoring = async () => ((await countStored()).blobs ?? 0) > (before.blobs ?? 0);
    await expect.poll(isStoring, { timeout: 60_000, interval: 5 }).toBe(true);
    third.main.child.kill("SIGKILL");
    await third.main.ended();
    const read = async () => (await fetch(`${one}/processes/${id}`)).json();
    await expect.poll(read, { timeout: 60_000 }).toMatchObject({ reason: "interrupted", artifacts: [] });
    await sweep();
    expect(await countStored()).toEqual(before);
  });

  test("what is deleted is gone after the sweeps of two servers at once", async () => {
    const { files } = (await (await fetch(`${one}/files?limit=200`)).json()) as { files: { id: string }[] };
    for (const { id } of files) await fetch(`${one}/files/${id}`, { method: "DELETE" });
    await Promise.all([sweep(), sweep()]);
    await sweep();
    expect(await countStored()).toEqual({ blobs: 0, contents: 0, files: 0, chunks: 0, inBucket: 0 });
  });

  test.runIf(isBucket)("an upload that the bucket refuses is answered 503, and stays no file", async () => {
    await client.send(new DeleteBucketCommand({ Bucket }));
    const answer = await upload(one, randomBytes(100_000));
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
      503,
      "storage_unavailable",
    ]);
    expect(await (await fetch(`${one}/files`)).json()).toMatchObject({
      files: [],
      storedBytes: 0,
      nextCursor: null,
    });
  });
});
