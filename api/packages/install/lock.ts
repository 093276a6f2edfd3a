/**
 * Extracts the part of a project's package-lock.json that npm's library needs, and checks that the resolved tree
 * matches it exactly. The lock file is untrusted. Pure.
 */
import type { Node } from "@npmcli/arborist";
import { z } from "zod";
import { isMemberName } from "./names.ts";

/** A package problem that ends the installation. The message is a sentence. */
export class Refused extends Error {}

const MAX_SHOWN_CHARACTERS = 300;

const lockSchema = z.object({
  lockfileVersion: z.union([z.literal(2), z.literal(3)]),
  packages: z.record(z.string(), z.record(z.string(), z.unknown())),
});

export interface TrimmedLock {
  name: string;
  version: string;
  lockfileVersion: number;
  requires: true;
  packages: Record<string, Record<string, unknown>>;
}

/**
 * Drops entries that are not registry packages: workspace folders, links and unsafe paths. The library ignores
 * entries that the package does not need. Throws Refused.
 */
export function trimLock(lock: unknown, name: string, range: string): TrimmedLock {
  const parsed = lockSchema.safeParse(lock);
  if (!parsed.success)
    throw new Refused("The lock file is not a package-lock.json of version 2 or 3 with packages.");
  const { lockfileVersion, packages } = parsed.data;
  const members = Object.entries(packages).filter(
    ([location, { link }]) => link !== true && isMember(location),
  );
  const trimmed = Object.fromEntries(members);
  if (!Object.hasOwn(trimmed, `node_modules/${name}`))
    throw new Refused(`The lock file does not name ${name} as a package of a registry.`);
  return {
    name: "cyrnel-installation",
    version: "0.0.0",
    lockfileVersion,
    requires: true,
    packages: { ...trimmed, "": { name: "cyrnel-installation", dependencies: { [name]: range } } },
  };
}

/** Matches package locations such as `node_modules/a` and `node_modules/a/node_modules/@b/c`. */
export function isMember(location: string): boolean {
  const [before, ...names] = `/${location}`.split("/node_modules/");
  return before === "" && names.length > 0 && names.every(isMemberName);
}

/**
 * Throws if the resolved tree differs from the lock file. The library asks the registry for entries that it could not
 * take from the lock file.
 */
export function checkLocked({ packages }: TrimmedLock, members: readonly Node[]): void {
  for (const { name, packageName, version, location, integrity } of members) {
    const called = `${packageName ?? name}@${version}`.slice(0, MAX_SHOWN_CHARACTERS);
    const locked = Object.hasOwn(packages, location) ? packages[location] : undefined;
    if (locked === undefined) {
      throw new Refused(
        `The tree needs ${called} at ${location.slice(0, MAX_SHOWN_CHARACTERS)}, where the lock file has no package: ${RENEW}`,
      );
    }
    if (locked.version !== version) {
      throw new Refused(
        `The lock file has version ${show(locked.version)} at ${location.slice(0, MAX_SHOWN_CHARACTERS)}, and ${called} is needed there: ${RENEW}`,
      );
    }
    if (typeof locked.integrity !== "string" || !shareHash(locked.integrity, integrity ?? "")) {
      throw new Refused(
        `The lock file has the integrity ${show(locked.integrity)} for ${called}, and not ${show(integrity)}: ${RENEW}`,
      );
    }
  }
}
const RENEW = "only its packages are installed. Renew it with npm install, or request a version that it has.";

function show(value: unknown): string {
  return typeof value === "string" ? value.slice(0, MAX_SHOWN_CHARACTERS) : "none";
}

export function shareHash(one: string, other: string): boolean {
  const hashes = new Set(one.split(/\s+/).filter((hash) => hash !== ""));
  return other.split(/\s+/).some((hash) => hashes.has(hash));
}
