/** The realm and its libraries, as runner/build.ts embeds them into the slot's file: a slot may read no file. */
declare const CYRNEL_REALM_CORE: string;
declare const CYRNEL_REALM_LIBRARIES: Record<string, string>;

export interface RealmSource {
  /** An expression: takes `require`, answers the install function of runner/child/realm. */
  core: string;
  /** By name: an expression that takes `require` and answers the library's exports. */
  libraries: Record<string, string>;
}

export function readRealmSource(): RealmSource {
  return { core: CYRNEL_REALM_CORE, libraries: CYRNEL_REALM_LIBRARIES };
}
