/**
 * Sends a heartbeat every `beatIntervalMs` and learns about the other servers on the database. A server silent for
 * `maxSilentMs` is lost. Uses only the database's clock and this server's monotonic clock, so a clock that jumps does
 * no harm.
 */

import { readFileSync, readlinkSync } from "node:fs";
import { performance } from "node:perf_hooks";
import type { Timings } from "../config/timings.ts";
import { DatabaseRefused, listMigrations } from "../db/migrate.ts";
import type { Db } from "../db/pool.ts";
import type { Place, ReplicaFacts, ReplicaRow } from "./model.ts";
import { beat, listOthers, removeReplica, removeSilent } from "./store.ts";

/** A longer gap without any heartbeat means that no server was running or the database was down. */
const MAX_GAP_MS = 10_000;
const RETRY_MS = 500;
const REMEMBERED_MS = 60_000;
/** Time to keep a lost server's row for inspection. */
const MAX_KEPT_MS = 3_600_000;

export interface Membership {
  /** The other servers that are not lost, as of the last heartbeat. */
  readonly others: readonly ReplicaRow[];
  /** True if the database had another server's row in the last minute. */
  readonly hadOthers: boolean;
  /**
   * `maxSilentMs` from the timings, once any server's heartbeats have covered that time without a gap; null until
   * then.
   */
  readonly maxSilentMs: number | null;
  consumeSilence(): boolean;
  /** Last migration known to this program, or null before `start`. */
  readonly knownSchema: string | null;
  /** True if a newer program had changed the schema by the last heartbeat. */
  readonly isOutdated: boolean;
  /** Milliseconds since this server's last successful heartbeat. */
  readonly silentMs: number;
  /** Sends the first heartbeat and resolves with the servers already present. Rejects if the database fails. */
  start(): Promise<readonly ReplicaRow[]>;
  beatNow(): Promise<void>;
  stop(): Promise<void>;
  /** Releases everything that this server owns. Never rejects. */
  signOff(): Promise<void>;
}

export interface MembershipOptions {
  db: Db;
  timings: Pick<Timings, "beatIntervalMs" | "maxSilentMs">;
  describe(): Omit<ReplicaFacts, "place">;
  afterBeat(): Promise<void>;
  log: {
    debug(fields: object, message: string): void;
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

export function createMembership({
  db,
  timings: { beatIntervalMs, maxSilentMs },
  describe,
  afterBeat,
  log,
}: MembershipOptions): Membership {
  const place = findPlace();
  let timer: NodeJS.Timeout | undefined;
  let beating: Promise<void> | null = null;
  let beatAgain = false;
  let isStopped = false;
  let isFailing = false;
  let wasSilent = false;
  let hadOthersMs = Number.NEGATIVE_INFINITY;
  let lastBeatMs = Number.NEGATIVE_INFINITY;
  /** When the current period of heartbeats without a gap began, on this server's clock. */
  let heardSinceMs = Number.POSITIVE_INFINITY;
  let knownSchema: string | null = null;
  let isOutdated = false;

  async function beatOnce(): Promise<void> {
    const askedMs = performance.now();
    const { silentMs, heardForMs, schema } = await beat(db, { ...describe(), place }, MAX_GAP_MS);
    compareSchema(schema);
    const isFirst = lastBeatMs === Number.NEGATIVE_INFINITY;
    if (!isFirst && (silentMs === null || silentMs > maxSilentMs)) {
      wasSilent = true;
      const silent = Math.round(silentMs ?? askedMs - lastBeatMs);
      log.warn(
        { silentMs: silent },
        "this server was silent for so long that the others may consider it lost",
      );
    }
    lastBeatMs = performance.now();
    heardSinceMs = lastBeatMs - heardForMs;
    await look();
  }

  function compareSchema(schema: string | null): void {
    const wasOutdated = isOutdated;
    isOutdated = schema !== null && knownSchema !== null && schema > knownSchema;
    if (!isOutdated || wasOutdated) return;
    log.warn(
      { schema, known: knownSchema },
      `the schema of the database is at ${schema} and this program knows ${knownSchema}: a newer program has changed it, so this server starts no more runs and finishes its current ones; stop it then`,
    );
  }

  async function look(): Promise<void> {
    const { id } = describe();
    const rows = await listOthers(db, id);
    if (rows.length > 0) hadOthersMs = performance.now();
    const gone = rows.filter((row) => isGone(row.place, place));
    for (const row of gone) await removeReplica(db, row.id);
    const present = rows.filter((row) => !gone.includes(row) && row.silentMs <= maxSilentMs);
    const known = new Set(membership.others.map((row) => row.id));
    for (const row of present) {
      if (!known.has(row.id))
        log.info({ replica: row.name, version: row.version }, "another server is on the database");
    }
    const now = new Set(present.map((row) => row.id));
    for (const row of membership.others) {
      if (!now.has(row.id))
        log.warn({ replica: row.name }, "another server has left the database, or is lost");
    }
    membership.others = present;
    if (rows.some((row) => row.silentMs > MAX_KEPT_MS)) await removeSilent(db, MAX_KEPT_MS);
  }

  async function run(): Promise<void> {
    do {
      beatAgain = false;
      try {
        await beatOnce();
        await afterBeat();
        isFailing = false;
      } catch (error) {
        const message = "this server could not send its heartbeat";
        if (isFailing) log.debug({ err: error }, message);
        else log.warn({ err: error }, `${message}; if that lasts, the others consider it lost`);
        isFailing = true;
      }
    } while (beatAgain && !isStopped);
  }

  function beatNow(): Promise<void> {
    // A server that has signed off must not reappear.
    if (isStopped) return Promise.resolve();
    if (beating !== null) {
      beatAgain = true;
      return beating;
    }
    clearTimeout(timer);
    beating = run().finally(() => {
      beating = null;
      if (isStopped) return;
      const isLate = performance.now() - lastBeatMs > beatIntervalMs;
      timer = setTimeout(beatNow, isLate ? RETRY_MS : beatIntervalMs).unref();
    });
    return beating;
  }

  const membership = {
    others: [] as readonly ReplicaRow[],
    get hadOthers() {
      return performance.now() - hadOthersMs < REMEMBERED_MS;
    },
    get maxSilentMs() {
      const now = performance.now();
      const isHeard = now - lastBeatMs < MAX_GAP_MS && now - heardSinceMs > maxSilentMs;
      return isHeard ? maxSilentMs : null;
    },
    get silentMs() {
      return performance.now() - lastBeatMs;
    },
    get knownSchema() {
      return knownSchema;
    },
    get isOutdated() {
      return isOutdated;
    },
    consumeSilence() {
      const was = wasSilent;
      wasSilent = false;
      return was;
    },
    async start() {
      knownSchema = (await listMigrations()).at(-1) ?? null;
      await beatOnce();
      timer = setTimeout(beatNow, beatIntervalMs).unref();
      return membership.others.filter(({ isEarlier }) => isEarlier);
    },
    beatNow,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await beating;
    },
    async signOff() {
      await removeReplica(db, describe().id).catch((error) =>
        log.debug({ err: error }, "this server could not sign off; the others notice its silence"),
      );
    },
  };
  return membership;
}

/**
 * Throws DatabaseRefused, naming a server, if its current key is unknown here or it does not know ours: each server
 * must be able to open data sealed by the others.
 */
export function requireSameSecretsKey(
  others: readonly Pick<ReplicaRow, "name" | "secretsKey" | "secretsKeys">[],
  own: { current: string; all: readonly string[] } | null,
): void {
  const ours = own?.current ?? null;
  for (const { name, secretsKey: theirs, secretsKeys } of others) {
    if (theirs === ours) continue;
    const isShared =
      theirs !== null && ours !== null && own?.all.includes(theirs) && secretsKeys.includes(ours);
    if (isShared) continue;
    throw new DatabaseRefused(
      `This server has ${describe(ours)}, and the server ${name} on the same database has ${describe(theirs)}: they could not open each other's secrets. ` +
        "Give all servers the same CYRNEL_SECRETS_KEY; to change it while some run, first add the new one to CYRNEL_SECRETS_PREVIOUS_KEYS of each.",
    );
  }
}

function describe(kid: string | null): string {
  return kid === null ? "no CYRNEL_SECRETS_KEY" : `the CYRNEL_SECRETS_KEY ${kid}`;
}

/**
 * Identifies this process on its machine, so that its successor there sees at once that it has ended and need not
 * wait for `maxSilentMs`. If that is uncertain, the successor waits.
 */
/** Identifies this process. Returns null if the system does not report it (no /proc). */
export function findPlace(): Place | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    const started = readStart(process.pid);
    if (boot === "" || started === null) return null;
    return { machine: `${boot} ${readlinkSync("/proc/self/ns/pid")}`, pid: process.pid, started };
  } catch {
    return null;
  }
}

/** Returns true only if the process has certainly ended, as seen from a process on the same machine. */
export function isGone(place: Place | null, own: Place | null): boolean {
  if (place === null || own === null || place.machine !== own.machine) return false;
  return readStart(place.pid) !== place.started;
}

/** Returns the process's start in clock ticks since boot, or null if it does not exist or has ended. */
function readStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const hasEnded = fields[0] === "Z" || fields[0] === "X";
    return hasEnded ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
