/** Maps bundle lines to their files, as compactly as stacks allow. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { decodedMappings, encodedMappings, TraceMap } from "@jridgewell/trace-mapping";
import type { Shifts } from "./check.ts";

const MAX_NAME_CHARS = 300;

type Segment = [number] | [number, number, number, number] | [number, number, number, number, number];

export interface LineMap {
  sources: string[];
  mappings: string;
}

/**
 * `map` is esbuild's, which does not count the line before the bundle; `shifts` does. Keeps one position per file
 * line, so columns are those of line starts.
 */
export function compactMappings(map: string, base: string, shifts: Shifts): LineMap {
  const { mappings, sources } = JSON.parse(map) as { mappings: string; sources: string[] };
  const names = sources.map(createNamer(base));
  const used: string[] = [];
  const numbers = new Map<number, number>();
  const traced = new TraceMap({ version: 3, names: [], sources, mappings });
  const lines: Segment[][] = [[]];
  for (const segments of decodedMappings(traced) as unknown as Segment[][]) {
    const kept: Segment[] = [];
    const moved = shifts.get(lines.length) ?? [];
    let passed = 0;
    let more = 0;
    let last = "";
    for (const segment of segments) {
      if (segment.length === 1) continue;
      const [before, source, line, sourceColumn] = segment;
      for (let shift = moved[passed]; shift !== undefined && shift[0] <= before; shift = moved[++passed])
        more += shift[1];
      const column = before + more;
      const place = `${source} ${line}`;
      if (place === last) continue;
      last = place;
      const name = names[source] ?? null;
      let number = numbers.get(source);
      if (name !== null && number === undefined) {
        number = used.push(name) - 1;
        numbers.set(source, number);
      }
      kept.push(number === undefined ? [column] : [column, number, line, sourceColumn]);
    }
    lines.push(kept);
  }
  const compact = new TraceMap({ version: 3, names: [], sources: used, mappings: lines as never });
  return { sources: used, mappings: encodedMappings(compact) };
}

/** Names files as `zod@4.1.2/v4/core.js`; returns null for this project's files. */
function createNamer(base: string): (source: string) => string | null {
  const versions = new Map<string, string>();
  const folders = new Map<string, string | null>();
  return (source) => {
    if (/^[\w-]+:|^<|cyrnel-/.test(source)) return null;
    const path = join(base, source);
    if (!path.startsWith(base + sep)) return null;
    const own = dirname(path);
    const folder = folders.get(own) ?? findFolder(path, base);
    folders.set(own, folder);
    if (folder === null) return relative(base, path).slice(-MAX_NAME_CHARS);
    let name = versions.get(folder);
    if (name === undefined) {
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      name = `${String(manifest.name).slice(0, 214)}@${String(manifest.version).slice(0, 60)}`;
      versions.set(folder, name);
    }
    return `${name}/${relative(folder, path).split(sep).join("/")}`.slice(0, MAX_NAME_CHARS);
  };
}

function findFolder(path: string, base: string): string | null {
  for (let folder = dirname(path); folder.startsWith(base); folder = dirname(folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      if (typeof name === "string" && typeof version === "string") return folder;
    } catch {
      // The folder has no package.json, so the search continues above.
    }
    if (folder === base) break;
  }
  return null;
}
