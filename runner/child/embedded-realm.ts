/**
 * The realm's bundle as runner/build.ts embeds it into a process that may read no file, such as a slot of isolates.
 * The process child reads it from beside its own file instead (realm-files.ts): that is quicker for one start.
 */
declare const CYRNEL_REALM_SOURCE: string;

export function readRealmSource(): string {
  return CYRNEL_REALM_SOURCE;
}
