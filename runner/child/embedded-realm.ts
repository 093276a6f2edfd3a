/**
 * The realm's bundle and its code cache, as runner/build.ts embeds them into the child's file: a child may read no
 * file but that one.
 */
declare const CYRNEL_REALM_SOURCE: string;
declare const CYRNEL_REALM_CACHE: string;

/** The name the bundle is compiled under; never shown in stacks of a script. */
export const REALM_FILE_NAME = "cyrnel:realm";

export function readRealmSource(): string {
  return CYRNEL_REALM_SOURCE;
}

/** V8 code cache of the bundle; rejected by a Node with other flags, which only costs time. */
export function readRealmCache(): Buffer {
  return Buffer.from(CYRNEL_REALM_CACHE, "base64");
}
