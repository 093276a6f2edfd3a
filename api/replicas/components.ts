/**
 * Follows changes to modules and services made by other replicas: notices report them, and every component is checked
 * again after a gap. This server's own changes turn out to be applied already.
 */
import { z } from "zod";
import { closeInTime, type Listening, listenFor } from "../db/notices.ts";
import type { Pool } from "../db/pool.ts";

const CHANNEL = "cyrnel_components";
const noticeSchema = z.tuple([z.string(), z.string()]);
/** Maximum number of queued changes. If there are more, every component is checked again. */
const MAX_WAITING = 1000;

export interface ComponentWatch extends AsyncDisposable {
  start(): Promise<void>;
}

export interface ComponentWatchOptions {
  pool: Pool;
  /** True if this server is the only one, so that it made every change itself. */
  isAlone(): boolean;
  followModules(): Promise<void>;
  followService(id: string): Promise<void>;
  listServices(): Promise<string[]>;
  log: { warn(fields: object, message: string): void };
}

export function createComponentWatch(options: ComponentWatchOptions): ComponentWatch {
  const { pool, isAlone, followModules, followService, listServices, log } = options;
  const services = new Set<string>();
  let modulesAreDue = false;
  let everythingIsDue = false;
  let isClosed = false;
  let hasStarted = false;
  let working: Promise<void> | null = null;
  let listening: Listening | null = null;

  function onNotice(notice: z.output<typeof noticeSchema> | null): void {
    if (isAlone()) return;
    const [kind, id] = notice ?? ["", ""];
    if (kind === "module") modulesAreDue = true;
    else if (kind === "service" && services.size < MAX_WAITING) services.add(id);
    else everythingIsDue = true;
    work();
  }

  function work(): void {
    if (isClosed) return;
    working ??= workOff().finally(() => {
      working = null;
    });
  }

  async function workOff(): Promise<void> {
    // A transaction's notices arrive together, so wait for all of them.
    await new Promise((resolve) => setImmediate(resolve));
    while (!isClosed && (modulesAreDue || everythingIsDue || services.size > 0)) {
      try {
        if (everythingIsDue) {
          everythingIsDue = false;
          modulesAreDue = true;
          for (const id of await listServices()) services.add(id);
        }
        if (modulesAreDue) {
          modulesAreDue = false;
          await followModules();
        }
        for (const id of services) {
          services.delete(id);
          await followService(id);
        }
      } catch (error) {
        log.warn(
          { err: error },
          "a change of a module or service on another server could not be applied here",
        );
        // The database is down; every component is checked after the gap.
        return;
      }
    }
  }

  return {
    async start() {
      listening = listenFor(pool, {
        channel: CHANNEL,
        schema: noticeSchema,
        onNotice,
        onListening() {
          if (hasStarted && !isAlone()) {
            everythingIsDue = true;
            work();
          }
          hasStarted = true;
        },
      });
      await listening.ready;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await listening?.[Symbol.asyncDispose]();
      await closeInTime(working);
    },
  };
}
