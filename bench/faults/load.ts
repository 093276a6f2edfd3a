/** Clients that submit processes to whichever server answers, and know which of them were accepted. */
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { API_KEY, type Cluster } from "./cluster.ts";

const agent = new http.Agent({ keepAlive: false });

export interface Load {
  /** Ids that a server has answered with 201. */
  readonly accepted: Set<number>;
  /** Ends after what is being submitted was accepted. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  clients: number;
  /** Of the n-th process. */
  code(n: number): string;
  pauseMs: number;
}

/** Each submission is repeated with its Idempotency-Key until a server has accepted it. */
export function startLoad(cluster: Cluster, { clients, code, pauseMs }: LoadOptions): Load {
  const accepted = new Set<number>();
  let isStopped = false;
  let count = 0;

  async function submit(n: number): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      const replica = cluster.replicas[(n + attempt) % Math.max(1, cluster.replicas.length)];
      if (replica !== undefined) {
        const answer = await request(replica.url, "POST", "/processes", {
          body: { code: code(n) },
          headers: { "idempotency-key": `load ${n}` },
          timeoutMs: 4000,
        }).catch(() => null);
        if (answer?.status === 201) {
          accepted.add((JSON.parse(answer.text) as { id: number }).id);
          return;
        }
        if (answer !== null && ![429, 500, 503].includes(answer.status)) {
          throw new Error(`a submission was answered ${answer.status}: ${answer.text}`);
        }
      }
      await sleep(50);
    }
  }

  const running = Array.from({ length: clients }, async () => {
    while (!isStopped) {
      count += 1;
      await submit(count);
      await sleep(pauseMs);
    }
  });
  return {
    accepted,
    async stop() {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

export interface HttpAnswer {
  status: number;
  text: string;
}

export function request(
  url: string,
  method: string,
  pathname: string,
  options: { body?: unknown; headers?: Record<string, string>; timeoutMs?: number } = {},
): Promise<HttpAnswer> {
  const payload = options.body === undefined ? undefined : JSON.stringify(options.body);
  return new Promise((resolve, reject) => {
    const outgoing = http.request(
      new URL(pathname, url),
      {
        method,
        agent,
        headers: {
          authorization: `Bearer ${API_KEY}`,
          ...(payload === undefined ? {} : { "content-type": "application/json" }),
          ...options.headers,
        },
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () =>
          resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
      },
    );
    outgoing.setTimeout(options.timeoutMs ?? 10_000, () => outgoing.destroy(new Error("no answer in time")));
    outgoing.on("error", reject);
    outgoing.end(payload);
  });
}
