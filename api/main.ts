/**
 * The server process: configuration, database, server, signals and exit codes. Only this file installs signal
 * handlers and exits, and only this file and config.ts read process.env.
 */
import type { AddressInfo } from "node:net";
import { performance } from "node:perf_hooks";
import { isatty } from "node:tty";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import closeWithGrace from "close-with-grace";
import { openLogOutput } from "#api/observe/logs/output.ts";
import { createLogRing } from "#api/observe/logs/ring.ts";
import { formatLogLine } from "#api/observe/logs/terminal.ts";
import { releaseFreedMemory } from "#runner/jail/kernel/syscalls.ts";
import { hideMemory } from "#runner/jail/undumpable.ts";
import { type Config, formatProblems, listUnknownVariables, parseConfig } from "./config.ts";
import { type Database, openDatabase } from "./db/database.ts";
import { EMBEDDED_POSTGRES_MISSING } from "./db/embedded/binaries.ts";
import { DatabaseRefused } from "./db/migrate.ts";
import { DatabaseInUse } from "./db/server-lock.ts";
import { MIN_DESCRIPTORS, readDescriptorLimit } from "./http/guards.ts";
import { createLogger } from "./http/logging.ts";
import { createRedactor } from "./secrets/redactor.ts";
import { findKeyring } from "./secrets/server-keyring.ts";
import { type CyrnelServer, openServer } from "./server.ts";
import { describeStartFailure, requireFolders, requireFreePort, UnusableFolder } from "./start-checks.ts";

const EX_CONFIG = 78;
const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;
const SLOW_STEP_MS = 1000;
/** Time added to that for runs, for killing and storing them, closing, and stopping the embedded Postgres. */
const CLOSE_TIMEOUT_MS = 45_000;
const IDLE_LOOK_MS = 10_000;
const MAX_IDLE_UTILIZATION = 0.05;
const MIN_GARBAGE_BYTES = 16 * 1024 * 1024;
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
/**
 * Under npm, Ctrl-C arrives twice: from the terminal and from npm. A signal this soon after the first does not count
 * as a second request.
 */
const SAME_SIGNAL_MS = 1000;
/** Signals for which closeWithGrace must install no handler. A process must die of processor faults, for example. */
const OWN_SIGNALS = [
  ...STOP_SIGNALS,
  "SIGILL",
  "SIGTRAP",
  "SIGABRT",
  "SIGBUS",
  "SIGFPE",
  "SIGSEGV",
  "SIGUSR2",
] satisfies closeWithGrace.AllEvents[];

// Without a handler, SIGUSR1 opens Node's inspector, through which anyone on this machine could run code in this
// process.
process.on("SIGUSR1", () => {});
// The default action would end the process without stopping the embedded Postgres and the child processes.
process.on("SIGUSR2", () => {});

// The initial environment contains keys, and deleting them below does not remove them from /proc/<pid>/environ.
hideMemory();

// Keep running if the reader is gone (a closed pipe, a restarting journal).
process.stderr.on("error", () => {});

const parsed = parseConfig(process.env);
if (!parsed.ok) {
  process.stderr.write(formatProblems(parsed.problems));
  process.exit(EX_CONFIG);
}
const { config } = parsed;
const descriptors = readDescriptorLimit();
if (descriptors !== null && descriptors < MIN_DESCRIPTORS) {
  process.stderr.write(
    `cyrnel: Cannot start: this process may have only ${descriptors} files and connections open at once; a server needs ${MIN_DESCRIPTORS} at least. Raise the limit: ulimit -n, LimitNOFILE= of systemd, ulimits of a container.\n`,
  );
  process.exit(1);
}
for (const sentence of listUnknownVariables(process.env)) process.stderr.write(`cyrnel: ${sentence}\n`);
// Child processes must not inherit keys.
delete process.env.CYRNEL_API_KEY;
delete process.env.DATABASE_URL;
delete process.env.CYRNEL_SECRETS_KEY;
delete process.env.CYRNEL_SECRETS_PREVIOUS_KEYS;
delete process.env.OTEL_EXPORTER_OTLP_HEADERS;

/** Starts without secrets; the server adds them. */
const redactor = createRedactor();
const resources = new AsyncDisposableStack();
const output = resources.use(
  openLogOutput(STANDARD_OUTPUT, isatty(STANDARD_OUTPUT) ? formatLogLine : undefined),
);
let reports = 0;
const stopping = new AbortController();
let failure: string | null = null;
const grace = closeWithGrace(
  { delay: config.shutdownTimeoutMs + CLOSE_TIMEOUT_MS, logger: { error: report }, skip: OWN_SIGNALS },
  async ({ err }) => {
    if (err) report(err);
    stopping.abort();
    // Let the startup finish, so that everything it opened can be closed.
    await starting.catch(() => {});
    await resources.disposeAsync();
    if (failure !== null) process.exit(1);
  },
);

let stoppingSinceMs: number | null = null;
let listening: CyrnelServer | null = null;
for (const signal of STOP_SIGNALS) process.on(signal, () => stop(signal));

const starting = start(config);
try {
  await starting;
} catch (error) {
  if (!stopping.signal.aborted) {
    report(describeStartFailure(error, config));
    await resources.disposeAsync().catch(report);
    process.exit(isMisconfigured(error) ? EX_CONFIG : 1);
  }
}

async function start(config: Config): Promise<void> {
  const { signal } = stopping;
  await requireFreePort(config);
  await requireFolders(config);
  const opening = openDatabase(config, {
    onTakenOver,
    onMigrate,
    onStartedAgain,
    onGone: endBy,
    onProgress: report,
    signal,
  });
  const database = resources.use(await during("opening the database", opening));
  signal.throwIfAborted();
  const ring = createLogRing();
  const logger = createLogger({ ...config, databaseUrl: database.url }, { redactor, ring, stream: output });
  const { keyring, made } = await findKeyring(config);
  if (made !== null) {
    const message = `created a key for secrets: ${made} (mode 0600). Keep a copy of it: without it, stored secrets are lost`;
    report(message);
    logger.info({ type: "secrets", path: made, kid: keyring?.current.kid }, message);
  }
  const building = openServer(config, {
    database,
    logger,
    logRing: ring,
    redactor,
    onStuck,
    ...(keyring === null ? {} : { keyring }),
  });
  const server = resources.use(await during("starting modules and services", building));
  signal.throwIfAborted();
  const url = await server.listen();
  listening = server;
  resources.use(collectWhenIdle());
  report(describeStart(server.app.server.address() as AddressInfo, url, config, database));
  if (server.modules.environments.active() === null) {
    const refusal = server.modules.environments.refusal();
    report(`No environment is active, so scripts cannot run yet. ${refusal ?? "GET /modules says why."}`);
  }
  if (isatty(STANDARD_ERROR)) process.stderr.write(`Console: ${url}\n`);
}

/** Reports a slow startup step by name, unless the step reports something itself. */
async function during<T>(step: string, work: Promise<T>): Promise<T> {
  const before = reports;
  const timer = setTimeout(() => reports === before && report(step), SLOW_STEP_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

function stop(signal: string): void {
  if (stoppingSinceMs === null) {
    stoppingSinceMs = performance.now();
    const { shutdownDelayMs, shutdownTimeoutMs } = config;
    const first = shutdownDelayMs > 0 ? `requests are accepted for ${shutdownDelayMs} ms more; then ` : "";
    report(`${signal}: stopping (${first}runs may finish for ${shutdownTimeoutMs} ms)`);
    listening?.leave();
    setTimeout(close, listening === null ? 0 : shutdownDelayMs);
  } else if (performance.now() - stoppingSinceMs > SAME_SIGNAL_MS) {
    report(`${signal} again: exiting at once`);
    process.exit(1);
  }
}

/**
 * V8 collects garbage only when the heap has grown, which does not happen on an idle server. Memory from startup or a
 * busy hour, and memory freed by C code, would never be returned to the system. A collection stops the server for 50
 * to 100 ms, so it runs only if there is enough to gain.
 */
function collectWhenIdle(): Disposable {
  let keptBytes = 0;
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > MAX_IDLE_UTILIZATION) return;
    if (getHeapStatistics().used_heap_size - keptBytes < MIN_GARBAGE_BYTES) return;
    // Only a context created after setting the flag has `gc`.
    setFlagsFromString("--expose-gc");
    runInNewContext("gc()");
    setFlagsFromString("--no-expose-gc");
    keptBytes = getHeapStatistics().used_heap_size;
    releaseFreedMemory();
  }, IDLE_LOOK_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function onTakenOver(): void {
  report("Another server has taken over the database while it was away: this one stops.");
  close();
}

/** Runs only once, because a second call would exit before everything is closed. */
function close(): void {
  if (!stopping.signal.aborted) grace.close();
}

function onStuck(reason: string): void {
  endBy(`This server exits to be restarted: ${reason}.`);
}

/** Shuts down in order with exit code 1 and prints the reason as the last line. */
function endBy(reason: string): void {
  failure = reason;
  report(failure);
  grace.close();
}

function onStartedAgain(): void {
  report("The embedded Postgres had died and was started again.");
}

function onMigrate(pending: readonly string[]): void {
  const names = pending.length === 1 ? pending[0] : `${pending[0]} to ${pending.at(-1)}`;
  report(`migrating the database (${names}); on a large database this takes minutes`);
}

/** Writes for the operator to standard error; the log goes to standard output. */
function report(message: unknown): void {
  reports += 1;
  const text = message instanceof Error ? (message.stack ?? message.message) : String(message);
  process.stderr.write(`cyrnel: ${redactor.text(text)}\n`);
}

/** Returns true if another attempt would fail too. */
function isMisconfigured(error: unknown): boolean {
  return (
    (error instanceof DatabaseRefused && !(error instanceof DatabaseInUse)) ||
    error instanceof UnusableFolder ||
    (error as NodeJS.ErrnoException).code === EMBEDDED_POSTGRES_MISSING
  );
}

/** Contains the bound address, which may be every address, and a `url` that works from this machine. */
function describeStart(
  { address, family, port }: AddressInfo,
  url: string,
  config: Config,
  database: Database,
): string {
  const bound = `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  const access = config.apiKey === null ? "without a key, for this machine only" : "with an API key";
  const storage = database.embedded
    ? `embedded Postgres in ${config.dataDirectory}/postgres`
    : "Postgres at DATABASE_URL";
  return `listening on ${bound} (${access}; ${storage}; API: ${url}/docs)`;
}
