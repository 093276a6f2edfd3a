/** The realm's bundle, as runner/build.ts embeds it into the slot's file: a slot may read no file. */
declare const CYRNEL_REALM_SOURCE: string;

export function readRealmSource(): string {
  return CYRNEL_REALM_SOURCE;
}
