/**
 * How many connections the server holds open: in all, so that enough descriptors are left for running scripts, and of
 * one address before any of its requests was let in, so that a flood from one place leaves room for everybody else.
 */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { App } from "./app-type.ts";

const MAX_CONNECTIONS = 10_000;
const MIN_CONNECTIONS = 16;
/**
 * Kept back for everything that is no connection of a client: 60 of a server at rest, 8 for each run, and what tools
 * and the database need.
 */
const RESERVED_DESCRIPTORS = 160;
/** With fewer the server is told at its start that they are few. */
export const MIN_DESCRIPTORS = 256;

/** How many files this process may have open at once; null where the system does not say (no /proc). */
export function readDescriptorLimit(): number | null {
  try {
    const found = /^Max open files +(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    if (found === undefined) return null;
    return found === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(found);
  } catch {
    return null;
  }
}

/** Half of the descriptors, and never fewer than `RESERVED_DESCRIPTORS`, stay free of clients' connections. */
export function countAllowedConnections(descriptors: number | null): number {
  if (descriptors === null) return MAX_CONNECTIONS;
  const reserved = Math.max(RESERVED_DESCRIPTORS, Math.ceil(descriptors / 2));
  return Math.max(MIN_CONNECTIONS, Math.min(MAX_CONNECTIONS, descriptors - reserved));
}

/**
 * Of one address, a quarter of all connections may be open that never carried a request with a valid key. Beyond that
 * the one that is open longest is closed: a client that sends its request at once gets in, also in the middle of a flood.
 */
export function registerConnectionLimits(app: App): void {
  const max = countAllowedConnections(readDescriptorLimit());
  const maxUnknown = Math.ceil(max / 4);
  /** By address, oldest first. */
  const unknown = new Map<string, Set<Socket>>();
  app.server.maxConnections = max;
  app.server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress;
    if (address === undefined) return;
    const sockets = unknown.get(address) ?? new Set();
    unknown.set(address, sockets.add(socket));
    socket.once("close", () => forget(address, socket));
    if (sockets.size <= maxUnknown) return;
    const [oldest] = sockets;
    if (oldest === undefined) return;
    forget(address, oldest);
    oldest.destroy();
  });
  app.addHook("onRequest", async (request) => {
    const { socket } = request.raw;
    if (request.caller !== null && socket.remoteAddress !== undefined) forget(socket.remoteAddress, socket);
  });

  function forget(address: string, socket: Socket): void {
    const sockets = unknown.get(address);
    if (sockets?.delete(socket) && sockets.size === 0) unknown.delete(address);
  }
}
