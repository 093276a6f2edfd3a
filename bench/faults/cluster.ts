/**
 * Several servers on one Postgres, each a process of its own as `npm start` starts it, and a log of every change of state
 * that the database itself writes: what it says does not depend on what a server believes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#api/db/embedded.ts";
import { migrate } from "#api/db/migrate.ts";
import { createPool, type Pool } from "#api/db/pool.ts";
import packageFile from "../../package.json" with { type: "json" };

const ROOT = path.join(import.meta.dirname, "../..");
const START_ARGUMENTS = packageFile.scripts.start.replace(/^.* exec node /, "").split(" ");
const START_TIMEOUT_MS = 60_000;
export const API_KEY = "bench-key-0123456789-abcdefghijkl";

export interface Replica {
  readonly url: string;
  readonly pid: number;
  readonly child: ChildProcess;
  /** What it wrote to standard error: for the report of a failure. */
  stderr(): string;
}

export interface Cluster extends AsyncDisposable {
  readonly replicas: Replica[];
  /** The bench's own connections. */
  readonly pool: Pool;
  readonly directory: string;
  start(options?: { nodeFlags?: string[]; environment?: Record<string, string> }): Promise<Replica>;
  /** SIGKILL, and out of the list. */
  kill(replica: Replica): Promise<void>;
  stopPostgres(): Promise<void>;
  startPostgres(): Promise<void>;
}

export interface ClusterOptions {
  replicas: number;
  environment?: Record<string, string>;
  /** Default: a temporary one. */
  directory?: string;
  /** No server can be seen to be gone: as on machines of their own. */
  hidePlaces?: boolean;
}

/** Notes every change of state, with the claim and the server of that moment. */
const LOG = `
  create table bench_log (
    n bigint generated always as identity primary key, at timestamptz not null default clock_timestamp(),
    process_id bigint not null, before text, after text not null, claim uuid, replica uuid, reason text
  );
  create function bench_note() returns trigger language plpgsql as $$
  begin
    if tg_op = 'INSERT' or new.state <> old.state or new.claim is distinct from old.claim then
      insert into bench_log (process_id, before, after, claim, replica, reason)
      values (new.id, case when tg_op = 'UPDATE' then old.state end, new.state, new.claim, new.replica, new.reason);
    end if;
    return null;
  end $$;
  create trigger bench_note after insert or update on processes for each row execute function bench_note();`;
const HIDE_PLACES = `
  create function bench_hide() returns trigger language plpgsql as $$ begin new.place := null; return new; end $$;
  create trigger bench_hide before insert or update on replicas for each row execute function bench_hide();`;

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  await using undo = new AsyncDisposableStack();
  const directory = options.directory ?? (await mkdtemp(path.join(tmpdir(), "cyrnel-faults-")));
  if (options.directory === undefined) undo.defer(() => rm(directory, { recursive: true, force: true }));
  const open = () => startEmbeddedPostgres({ directory: path.join(directory, "postgres") });
  let postgres: EmbeddedPostgres = await open();
  undo.defer(() => postgres.stop());
  await migrate(postgres.url);
  const pool = createPool(postgres.url, { maxConnections: 4, applicationName: "bench" });
  undo.defer(() => pool.end({ timeout: 1 }));
  await pool.unsafe(LOG);
  if (options.hidePlaces) await pool.unsafe(HIDE_PLACES);

  const replicas: Replica[] = [];
  let started = 0;

  const start: Cluster["start"] = async ({ nodeFlags = [], environment = {} } = {}) => {
    started += 1;
    const child = spawn(process.execPath, [...nodeFlags, ...START_ARGUMENTS], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "pipe"],
      env: {
        PATH: process.env.PATH ?? "",
        PORT: "0",
        DATABASE_URL: postgres.url,
        CYRNEL_DATA_DIR: path.join(directory, `replica-${started}`),
        CYRNEL_API_KEY: API_KEY,
        LOG_LEVEL: "warn",
        ...options.environment,
        ...environment,
      },
    });
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-20_000);
    });
    const deadline = performance.now() + START_TIMEOUT_MS;
    for (;;) {
      const url = /listening on (\S+)/.exec(stderr)?.[1];
      if (url !== undefined) {
        const replica = { url, pid: child.pid as number, child, stderr: () => stderr };
        replicas.push(replica);
        return replica;
      }
      if (child.exitCode !== null || performance.now() > deadline) throw new Error(`no server:\n${stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  undo.defer(async () => {
    await Promise.all(
      replicas.map(async ({ child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const exited = once(child, "exit");
        child.kill("SIGCONT");
        child.kill("SIGTERM");
        await exited;
      }),
    );
  });
  for (let index = 0; index < options.replicas; index += 1) await start();

  const close = undo.move();
  return {
    replicas,
    pool,
    directory,
    start,
    async kill(replica) {
      const exited = once(replica.child, "exit");
      replica.child.kill("SIGKILL");
      await exited;
      replicas.splice(replicas.indexOf(replica), 1);
    },
    stopPostgres: () => postgres.stop(),
    async startPostgres() {
      postgres = await open();
    },
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}
