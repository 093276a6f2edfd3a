/** Parses CYRNEL_EGRESS_ALLOW and CYRNEL_EGRESS_DENY: addresses, blocks and host names. */
import { domainToASCII } from "node:url";
import { type Address, type Block, contains, parseAddress } from "./addresses.ts";

export type EgressEntry =
  | { kind: "block"; text: string; block: Block; isExact: boolean }
  /** `suffix` matches every host below the name but not the name itself. */
  | { kind: "host"; text: string; name: string; match: "exact" | "suffix" };

const MAX_ENTRIES = 1000;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const MAPPED_PREFIX_BITS = 96;

export function parseEgressEntries(list: string): { entries: EgressEntry[]; problems: string[] } {
  const texts = list.split(",").map((text) => text.trim());
  const given = texts.filter((text) => text !== "");
  if (given.length > MAX_ENTRIES)
    return { entries: [], problems: [`there are ${given.length} entries; the limit is ${MAX_ENTRIES}`] };
  const entries: EgressEntry[] = [];
  const problems: string[] = [];
  for (const text of given) {
    const entry = text.includes("/") ? parseBlock(text) : (parseSingle(text) ?? parseHost(text));
    if (typeof entry === "string") problems.push(entry);
    else entries.push(entry);
  }
  return { entries, problems };
}

export function coversAddress(entry: EgressEntry, address: Address): boolean {
  return entry.kind === "block" && contains(entry.block, address);
}

export function coversHost(entry: EgressEntry, host: string): boolean {
  if (entry.kind !== "host") return false;
  return entry.match === "exact" ? host === entry.name : host.endsWith(`.${entry.name}`);
}

/** Returns lower-case punycode without a final dot, or an address without brackets. */
export function normalizeHost(host: string): string {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  if (parseAddress(bare)) return bare.toLowerCase();
  return (domainToASCII(bare) || bare.toLowerCase()).replace(/\.$/, "");
}

function parseSingle(text: string): EgressEntry | null {
  const address = text.includes("%") ? null : parseAddress(text);
  if (!address) return null;
  const plain = unmapped(address);
  const bits = plain.kind() === "ipv4" ? 32 : 128;
  return { kind: "block", text, block: [plain, bits], isExact: true };
}

function parseBlock(text: string): EgressEntry | string {
  const [network = "", bits = "", ...rest] = text.split("/");
  const address = network.includes("%") ? null : parseAddress(network);
  const maxBits = address?.kind() === "ipv6" ? 128 : 32;
  if (!address || rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > maxBits) {
    return `"${text}" is not a block of addresses: expected one like 10.0.0.0/8 or fd00::/8`;
  }
  const prefixLength = Number(bits);
  if (address.toByteArray().some((byte, index) => (byte & ~maskByte(prefixLength, index)) !== 0)) {
    return `"${text}" has bits beyond its prefix: write the first address of the block, or a single address without prefix`;
  }
  const plain = prefixLength >= MAPPED_PREFIX_BITS ? unmapped(address) : address;
  const plainBits = plain === address ? prefixLength : prefixLength - MAPPED_PREFIX_BITS;
  return {
    kind: "block",
    text,
    block: [plain, plainBits],
    isExact: plainBits === (plain.kind() === "ipv4" ? 32 : 128),
  };
}

function parseHost(text: string): EgressEntry | string {
  const match = text.startsWith("*.") ? "suffix" : "exact";
  const name = normalizeHost(match === "suffix" ? text.slice(2) : text);
  const labels = name.split(".");
  const isName = name.length <= 253 && labels.every((label) => LABEL.test(label));
  // Reject names whose last label is a number, which resolvers read as an IPv4 address (127.1, 0x7f000001).
  if (!isName || /^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "")) {
    return `"${text}" is neither an address, a block of addresses (10.0.0.0/8) nor a host name (db.example.com, *.example.com; no scheme, no port)`;
  }
  return { kind: "host", text, name, match };
}

function unmapped(address: Address): Address {
  return "isIPv4MappedAddress" in address && address.isIPv4MappedAddress()
    ? address.toIPv4Address()
    : address;
}

function maskByte(prefixLength: number, index: number): number {
  const bits = Math.min(8, Math.max(0, prefixLength - index * 8));
  return (0xff << (8 - bits)) & 0xff;
}
