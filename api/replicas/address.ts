/** Where other servers reach this one, without anybody having to say it. */
import { isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

const WILDCARDS = new Set(["0.0.0.0", "::"]);

/**
 * A server that listens on all addresses names the first of its machine's own (a pod has one), and loopback where there is
 * no other.
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
