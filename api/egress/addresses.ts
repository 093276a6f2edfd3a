/**
 * Classifies IP addresses by the IANA special-purpose registries (public, link-local, cloud metadata) and extracts
 * embedded addresses. Makes no policy decisions.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Block = readonly [Address, number];

export interface Face {
  address: Address;
  nonPublic: string | null;
  /** Kind of address that no broad rule may allow (link-local, metadata), or null. */
  guarded: string | null;
}

interface NamedBlock {
  block: Block;
  name: string;
}

const GUARDED = named({
  "link-local": ["169.254.0.0/16", "fe80::/10"],
  "a cloud metadata address": [
    "100.100.100.200/32",
    "168.63.129.16/32",
    "192.0.0.192/32",
    "fd00:ec2::/32",
    "fd00:42::42/128",
    "fd20:ce::254/128",
  ],
});

const NON_PUBLIC = named({
  "an unspecified address": ["0.0.0.0/8", "::/128"],
  "a private address": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"],
  "a carrier's shared address": ["100.64.0.0/10"],
  loopback: ["127.0.0.0/8", "::1/128"],
  "a reserved address": [
    "192.0.0.0/24",
    "192.88.99.0/24",
    "240.0.0.0/4",
    "100::/64",
    "2001::/23",
    "3ffe::/16",
  ],
  "an address of documentation or benchmarks": [
    "192.0.2.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "2001:db8::/32",
    "3fff::/20",
  ],
  "a multicast address": ["224.0.0.0/4", "ff00::/8"],
  "an address that wraps an IPv4 address": ["::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "2002::/16"],
});

const PUBLIC_IPV6 = blockOf("2000::/3");

interface Carrier {
  block: Block;
  /** Addresses in this block embed nothing: the unspecified address and loopback. */
  except?: Block;
  offsetBytes: number;
  /** True if connections to the block always go to the embedded address. */
  isTransparent: boolean;
  isInverted?: boolean;
}

const CARRIERS: readonly Carrier[] = [
  { block: blockOf("::ffff:0:0/96"), offsetBytes: 12, isTransparent: true },
  // NAT64, the only way to reach an IPv4 host from a network without IPv4.
  { block: blockOf("64:ff9b::/96"), offsetBytes: 12, isTransparent: true },
  { block: blockOf("::/96"), except: blockOf("::/127"), offsetBytes: 12, isTransparent: false },
  { block: blockOf("::ffff:0:0:0/96"), offsetBytes: 12, isTransparent: false },
  { block: blockOf("64:ff9b:1::/96"), offsetBytes: 12, isTransparent: false },
  { block: blockOf("2002::/16"), offsetBytes: 2, isTransparent: false },
  // Teredo inverts the bits of the client's address.
  { block: blockOf("2001::/32"), offsetBytes: 12, isTransparent: false, isInverted: true },
];

/**
 * Returns null unless `text` is an address in standard notation (no octal, hexadecimal or shortened IPv4). Drops a
 * zone id.
 */
export function parseAddress(text: string): Address | null {
  const bare = text.replace(/%.*$/s, "");
  const family = isIP(bare);
  if (family === 0) return null;
  // The library misreads ::8.8.8.8 as ::ffff:8.8.8.8 but reads the address correctly if it has no dots.
  const plain = family === 6 && bare.includes(".") ? new URL(`http://[${bare}]`).hostname.slice(1, -1) : bare;
  return ipaddr.parse(plain);
}

export function contains([network, prefixLength]: Block, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network as never, prefixLength);
}

/**
 * Lists the address and the IPv4 addresses embedded in it; rules apply to each. If connections always go to the
 * embedded address, lists only that.
 */
export function listFaces(outer: Address): Face[] {
  const carried = CARRIERS.filter(
    ({ block, except }) => contains(block, outer) && !(except && contains(except, outer)),
  ).map((carrier) => ({
    ...carrier,
    address: readCarried(outer, carrier.offsetBytes, carrier.isInverted ?? false),
  }));
  const inner = carried.map(({ address }) => describe(address));
  return carried.some(({ isTransparent }) => isTransparent) ? inner : [describe(outer), ...inner];
}

function describe(address: Address): Face {
  const guarded = GUARDED.find(({ block }) => contains(block, address))?.name ?? null;
  const nonPublic = NON_PUBLIC.find(({ block }) => contains(block, address))?.name ?? null;
  const isAssigned = address.kind() === "ipv4" || contains(PUBLIC_IPV6, address);
  return {
    address,
    guarded,
    nonPublic: nonPublic ?? (isAssigned ? null : "an address that is not assigned for public use"),
  };
}

function readCarried(outer: Address, offsetBytes: number, isInverted: boolean): ipaddr.IPv4 {
  const bytes = outer.toByteArray().slice(offsetBytes, offsetBytes + 4);
  return new ipaddr.IPv4(isInverted ? bytes.map((byte) => byte ^ 0xff) : bytes);
}

function blockOf(cidr: string): Block {
  return ipaddr.parseCIDR(cidr);
}

function named(blocks: Record<string, readonly string[]>): NamedBlock[] {
  return Object.entries(blocks).flatMap(([name, cidrs]) =>
    cidrs.map((cidr) => ({ name, block: blockOf(cidr) })),
  );
}
