/** A real S3 server in a process of its own, behind a proxy in this one that misbehaves as a test says. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createProbe } from "node:net";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";

const FAUXQS = path.resolve(import.meta.dirname, "../../node_modules/fauxqs/dist/cli.js");

/**
 * `silent`: takes requests and answers nothing. `failing`: answers 500. `cut`: bodies of objects end in the middle. `corrupt`:
 * one byte of them, near their end, is another.
 */
export type Behaviour = "well" | "silent" | "failing" | "cut" | "corrupt";

export interface ObjectStore extends AsyncDisposable {
  /** For the client library, in this process or another. */
  readonly environment: Record<string, string>;
  /** From now on. `times`: after so many requests that it concerns it behaves well again. */
  behave(as: Behaviour, times?: number): void;
  /** Requests that were not let through well. */
  readonly spoiled: number;
}

export async function startObjectStore(bucket: string): Promise<ObjectStore> {
  const port = await findPort();
  const real = spawn(process.execPath, [FAUXQS], {
    stdio: "ignore",
    env: { FAUXQS_PORT: String(port), FAUXQS_HOST: "127.0.0.1", FAUXQS_LOGGER: "false" },
  });
  let behaviour: Behaviour = "well";
  let timesLeft = Number.POSITIVE_INFINITY;
  let spoiled = 0;

  function takeBehaviour({ method, url = "" }: IncomingMessage): Behaviour {
    const concernsBodies = behaviour === "cut" || behaviour === "corrupt";
    if (behaviour === "well" || timesLeft === 0) return "well";
    if (concernsBodies && (method !== "GET" || url.split("?")[0]?.split("/").length === 2)) return "well";
    timesLeft -= 1;
    spoiled += 1;
    return behaviour;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const as = takeBehaviour(request);
    if (as === "silent") return void request.resume();
    const body = await buffer(request);
    if (as === "failing") return void response.writeHead(500).end();
    const { method, url: target, headers } = request;
    const sent = forward({ host: "127.0.0.1", port, method, path: target, headers });
    sent.end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const bytes = await buffer(answer);
    response.writeHead(answer.statusCode ?? 500, { ...answer.headers, "content-length": bytes.length });
    if (as === "cut") {
      response.write(bytes.subarray(0, bytes.length / 2));
      setTimeout(() => response.destroy(), 20);
      return;
    }
    if (as === "corrupt" && bytes.length > 10)
      bytes[bytes.length - 10] = (bytes[bytes.length - 10] as number) ^ 1;
    response.end(method === "HEAD" ? undefined : bytes);
  }

  const proxy = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const isUp = () => fetch(`http://127.0.0.1:${port}`).catch(() => null);
  while ((await isUp()) === null && real.exitCode === null) await sleep(50);
  const environment = {
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
  };
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  const client = new S3Client({
    forcePathStyle: true,
    endpoint: environment.AWS_ENDPOINT_URL_S3,
    region: environment.AWS_REGION,
    credentials: { accessKeyId, secretAccessKey },
  });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  return {
    environment,
    behave(as, times = Number.POSITIVE_INFINITY) {
      behaviour = as;
      timesLeft = times;
      proxy.closeAllConnections();
    },
    get spoiled() {
      return spoiled;
    },
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
      real.kill("SIGKILL");
      if (real.exitCode === null && real.signalCode === null) await once(real, "exit");
    },
  };
}

async function findPort(): Promise<number> {
  const probe = createProbe().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
