/**
 * Represents this server as one of several replicas: its row, its notices, and its requests to replicas that own
 * runs. The processes feature sees it as `Peers`.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { isIPv6 } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import type { Timings } from "../config/timings.ts";
import type { Pool } from "../db/pool.ts";
import type { Peers, QueueEvent } from "../processes/model/peers.ts";
import { createAnnouncements } from "./announcements.ts";
import { type ComponentWatchOptions, createComponentWatch } from "./components.ts";
import { createMembership, type Membership, requireSameSecretsKey } from "./membership.ts";
import type { ModuleActivation, ReplicaRow } from "./model.ts";
import { createRemoteRuns } from "./remote-runs.ts";
import { createRoster, type Roster } from "./roster/service.ts";
import { listOthers } from "./store.ts";

const MAX_NAME_CHARACTERS = 100;
const NEWS: readonly string[] = ["queued", "claimed", "left", "kill"] satisfies QueueEvent[];
const HERE = "here";

export interface ReplicasOptions {
  pool: Pool;
  priorityPool: Pool;
  version: string;
  /** Ids of the secrets keys, or null if there are none. */
  secretsKeys: { current: string; all: readonly string[] } | null;
  countSlots(): number | null;
  listModules(): Record<string, ModuleActivation>;
  isDraining(): boolean;
  timings: Pick<Timings, "beatIntervalMs" | "maxSilentMs">;
  follow: Pick<ComponentWatchOptions, "followModules" | "followService" | "listServices">;
  log: {
    debug(fields: object, message: string): void;
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

export interface Replicas extends AsyncDisposable {
  readonly peers: Peers;
  readonly token: Buffer;
  readonly roster: Roster;
  /** Milliseconds since this server's last successful heartbeat. */
  readonly silentMs: number;
  countSlots(): number | null;
  listActivations(moduleId: string): { replica: string; state: ModuleActivation["state"] }[];
  /** Throws DatabaseRefused if this server may not join; rejects if the database fails. */
  start(): Promise<void>;
  setAddress(address: string): void;
  publishDraining(): void;
}

export function createReplicas(options: ReplicasOptions): Replicas {
  const { pool, priorityPool, version, secretsKeys, countSlots, listModules, isDraining, log, timings } =
    options;
  const id = randomUUID();
  const name = `${hostname().slice(0, MAX_NAME_CHARACTERS)}:${process.pid}`;
  const token = randomBytes(32);
  const beatListeners = new Set<() => Promise<void>>();
  let address: string | null = null;
  let isOutdated = false;

  const membership: Membership = createMembership({
    db: priorityPool,
    timings,
    describe: () => ({
      id,
      name,
      version,
      token,
      address,
      secretsKey: secretsKeys?.current ?? null,
      secretsKeys: secretsKeys?.all ?? [],
      slots: countSlots(),
      modules: listModules(),
      draining: isDraining() || membership.isOutdated,
    }),
    async afterBeat() {
      isOutdated = membership.isOutdated;
      for (const listener of [...beatListeners]) await listener();
    },
    log,
  });
  const announcements = createAnnouncements({
    pool,
    id,
    onGap: () => void membership.beatNow(),
    log,
  });
  const components = createComponentWatch({
    pool,
    isAlone: () => membership.others.length === 0,
    ...options.follow,
    async followModules() {
      await options.follow.followModules();
      await membership.beatNow();
      announcements.publish(HERE, []);
    },
    log,
  });
  announcements.listen((kind, _ids, from) => {
    const isKnown = membership.others.some((row) => row.id === from);
    if (kind === HERE || !isKnown) void membership.beatNow();
  });

  async function findOwner(owner: string): Promise<ReplicaRow | null> {
    const known = membership.others.find((row) => row.id === owner && row.address !== null);
    if (known !== undefined) return known;
    const row = (await listOthers(pool, id)).find((one) => one.id === owner);
    return row !== undefined && row.silentMs <= timings.maxSilentMs ? row : null;
  }

  const peers: Peers = {
    id,
    get others() {
      return membership.others.length;
    },
    get canTake() {
      return membership.others.some(({ draining, slots }) => !draining && (slots ?? 0) > 0);
    },
    get hadOthers() {
      return membership.hadOthers;
    },
    get maxSilentMs() {
      return membership.maxSilentMs;
    },
    consumeSilence: membership.consumeSilence,
    get knownSchema() {
      return membership.knownSchema;
    },
    get isOutdated() {
      return isOutdated;
    },
    publish(event, ids) {
      if (membership.others.length > 0 && ids.length > 0) announcements.publish(event, ids);
    },
    onEvent: (listener) =>
      announcements.listen((kind, ids) => {
        if (NEWS.includes(kind)) listener(kind as QueueEvent, ids);
      }),
    onBeat(listener) {
      beatListeners.add(listener);
      return () => beatListeners.delete(listener);
    },
    remote: createRemoteRuns(async (owner) => {
      const row = await findOwner(owner);
      return row === null || row.address === null ? null : { address: row.address, token: row.token };
    }),
  };

  return {
    peers,
    token,
    get silentMs() {
      return membership.silentMs;
    },
    roster: createRoster({ db: pool, id, maxSilentMs: timings.maxSilentMs }),
    countSlots() {
      const own = countSlots();
      return own === null
        ? null
        : membership.others.reduce((sum, row) => sum + (row.draining ? 0 : (row.slots ?? 0)), own);
    },
    listActivations: (moduleId) =>
      membership.others.flatMap(({ name: replica, modules }) => {
        const activation = modules[moduleId];
        return activation === undefined ? [] : [{ replica, ...activation }];
      }),
    async start() {
      const others = await membership.start();
      try {
        requireSameSecretsKey(others, secretsKeys);
        await announcements.start();
        await components.start();
      } catch (error) {
        await membership.stop();
        await membership.signOff();
        throw error;
      }
      announcements.publish(HERE, []);
    },
    setAddress(given) {
      address = given;
      void membership.beatNow().then(() => announcements.publish(HERE, []));
    },
    publishDraining() {
      void membership.beatNow().then(() => announcements.publish(HERE, []));
    },
    async [Symbol.asyncDispose]() {
      await components[Symbol.asyncDispose]();
      await membership.stop();
      await membership.signOff();
      announcements.publish(HERE, []);
      await announcements[Symbol.asyncDispose]();
    },
  };
}

const WILDCARDS = new Set(["0.0.0.0", "::"]);

/**
 * Returns the address to publish: for a server that listens on all addresses, its machine's first own address (a pod
 * has one), or loopback.
 */
export function findAddress(host: string, port: number): string {
  const name = WILDCARDS.has(host) ? (findOwn() ?? "127.0.0.1") : host;
  return `http://${isIPv6(name) ? `[${name}]` : name}:${port}`;
}

function findOwn(): string | null {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  return (outside.find(({ family }) => family === "IPv4") ?? outside[0])?.address ?? null;
}
