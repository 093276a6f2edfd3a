/**
 * Validates the paths in a package: relative, without `..`, and identical on every file system. Rejects a path that
 * differs from an accepted one only in case or Unicode normalization.
 */

export const PATH_LIMITS = { maxPathBytes: 1000, maxSegmentBytes: 255, maxDepth: 32 } as const;

/** Splits a path into segments; the root (`./`) has none. Throws Error with the path and the reason. */
export function splitEntryPath(name: string): string[] {
  const refuse = (problem: string) => new Error(`The path ${JSON.stringify(name.slice(0, 200))} ${problem}.`);
  if (Buffer.byteLength(name) > PATH_LIMITS.maxPathBytes) {
    throw refuse(`is longer than ${PATH_LIMITS.maxPathBytes} bytes`);
  }
  if (/[\p{Cc}\uFFFD]/u.test(name)) throw refuse("contains control characters or is not UTF-8");
  if (name.includes("\\")) throw refuse("holds a backslash");
  if (name.startsWith("/") || /^[A-Za-z]:/.test(name)) throw refuse("is absolute");
  const segments = name.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..")) throw refuse("leads upwards");
  if (segments.length > PATH_LIMITS.maxDepth)
    throw refuse(`is more than ${PATH_LIMITS.maxDepth} levels deep`);
  if (segments.some((segment) => Buffer.byteLength(segment) > PATH_LIMITS.maxSegmentBytes)) {
    throw refuse(`has a part of more than ${PATH_LIMITS.maxSegmentBytes} bytes`);
  }
  return segments;
}

export interface AcceptedPaths {
  readonly count: number;
  /**
   * Accepts a path and returns its new folders, outermost first. Throws if the path exists or conflicts with an
   * accepted one.
   */
  add(segments: readonly string[], kind: "file" | "folder"): string[];
}

export function createAcceptedPaths(): AcceptedPaths {
  const accepted = new Map<string, { path: string; kind: "file" | "folder"; isImplied: boolean }>();
  return {
    get count() {
      return accepted.size;
    },
    add(segments, kind) {
      const newFolders: string[] = [];
      for (let length = 1; length <= segments.length; length++) {
        const path = segments.slice(0, length).join("/");
        const isItself = length === segments.length;
        const wanted = isItself ? kind : "folder";
        const key = path.normalize("NFC").toLowerCase().normalize("NFC");
        const there = accepted.get(key);
        if (there === undefined) {
          accepted.set(key, { path, kind: wanted, isImplied: !isItself });
          if (wanted === "folder") newFolders.push(path);
          continue;
        }
        const isAnnounced = isItself && kind === "folder" && there.isImplied;
        if (
          there.path === path &&
          there.kind === "folder" &&
          wanted === "folder" &&
          (!isItself || isAnnounced)
        ) {
          if (isItself) there.isImplied = false;
          continue;
        }
        throw new Error(
          there.path === path
            ? `${JSON.stringify(path)} is in the package twice.`
            : `${JSON.stringify(path)} and ${JSON.stringify(there.path)} are the same file on some file systems.`,
        );
      }
      return newFolders;
    },
  };
}
