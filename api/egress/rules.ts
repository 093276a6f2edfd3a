/**
 * Decides where this server may connect: to the public internet and to entries in CYRNEL_EGRESS_ALLOW, except those
 * in CYRNEL_EGRESS_DENY. Opens no connection and resolves no name.
 */
import { type Face, listFaces, parseAddress } from "./addresses.ts";
import { coversAddress, coversHost, type EgressEntry, normalizeHost } from "./entries.ts";

export interface EgressRules {
  readonly allow: readonly EgressEntry[];
  readonly deny: readonly EgressEntry[];
}

export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
  readonly code = "egress_refused";
}

const MAX_SHOWN_HOST_CHARACTERS = 255;

/** Throws EgressRefused if the URL is forbidden whatever its host resolves to. */
export function requireAllowedUrl(url: URL, rules: EgressRules): void {
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new EgressRefused(`Requests to ${url.protocol} URLs are refused: only http and https are allowed.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new EgressRefused("URLs with a user name or password are refused: send credentials as headers.");
  }
  requireAllowedHost(url.hostname, rules);
  const host = normalizeHost(url.hostname);
  if (parseAddress(host)) requireAllowedAddress(host, host, rules);
}

/** Throws EgressRefused if a rule denies the host by name. */
export function requireAllowedHost(hostname: string, rules: EgressRules): void {
  const host = normalizeHost(hostname);
  const denied = rules.deny.find((entry) => coversHost(entry, host));
  if (denied) throw refuse(host, null, `CYRNEL_EGRESS_DENY names ${denied.text}.`);
}

/** Throws EgressRefused unless a connection to `address`, to which `hostname` resolves, is allowed. */
export function requireAllowedAddress(address: string, hostname: string, rules: EgressRules): void {
  const host = normalizeHost(hostname);
  const outer = parseAddress(address);
  if (!outer) throw refuse(host, null, "its name resolves to something that is not an IP address.");
  const faces = listFaces(outer);
  const named = [outer, ...faces.map((face) => face.address)];
  const denied = rules.deny.find((entry) => named.some((one) => coversAddress(entry, one)));
  if (denied) throw refuse(host, address, `CYRNEL_EGRESS_DENY names ${denied.text}.`);
  for (const face of faces) {
    const problem = findProblem(face, host, rules);
    if (problem !== null) throw refuse(host, address, problem);
  }
}

function findProblem(face: Face, host: string, { allow }: EgressRules): string | null {
  const shown = face.address.toString();
  const covering = allow.filter((entry) => coversAddress(entry, face.address));
  if (face.guarded !== null) {
    // Requires an entry with exactly this address: the owner of an allowed name could point it here.
    const isExact = covering.some((entry) => entry.kind === "block" && entry.isExact);
    if (isExact) return null;
    return `${shown} is ${face.guarded}, refused unless CYRNEL_EGRESS_ALLOW names exactly ${shown}.`;
  }
  if (face.nonPublic === null || covering.length > 0 || allow.some((entry) => coversHost(entry, host)))
    return null;
  return `${shown} is ${face.nonPublic}, and only the public internet is allowed. To allow it, add ${shown} or ${parseAddress(host) ? "its block" : host} to CYRNEL_EGRESS_ALLOW.`;
}

function refuse(host: string, address: string | null, rule: string): EgressRefused {
  const shown = host.slice(0, MAX_SHOWN_HOST_CHARACTERS);
  const where = address === null || address === host ? shown : `${shown} (${address})`;
  return new EgressRefused(`A connection to ${where} is refused: ${rule}`);
}
