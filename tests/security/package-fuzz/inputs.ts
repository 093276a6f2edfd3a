/** What a hostile publisher puts into tarballs, descriptions, lock files and modules: made from seeds, aimed at a folder outside. */
import { gzipSync } from "node:zlib";
import { type Header, type Pack, pack } from "tar-stream";
import type { Prng } from "../bridge-fuzz/prng.ts";
import { hostileName } from "../name-fuzz/names.ts";

type Entry = Partial<Header> & { name: string };

/** Ways to name `outside`, an absolute path. */
export function leadOut(prng: Prng, outside: string): string {
  const up = "../".repeat(prng.between(1, 20));
  return prng.pick([
    outside,
    `./${up}${outside.slice(1)}`,
    `${up}${outside.slice(1)}`,
    `./a/${up}${outside.slice(1)}`,
    `file://${outside}`,
    `file:${outside}`,
    `/proc/self/root${outside}`,
    `./../../outside`,
    "./../../outside/*",
    `./link/*`,
    outside.replaceAll("/", "\\"),
  ]);
}

const TYPES = [
  "file",
  "file",
  "file",
  "file",
  "directory",
  "symlink",
  "link",
  "fifo",
  "block-device",
  "contiguous-file",
] as const;

/** Compressed, and sometimes damaged after or before. */
export async function hostileTarball(prng: Prng, outside: string): Promise<Buffer> {
  const isHarmless = prng.chance(0.3);
  const tar = pack();
  for (let count = prng.between(1, 30); count > 0; count--) {
    const name = isHarmless
      ? harmlessName(prng)
      : prng.chance(0.2)
        ? leadOut(prng, `${outside}/new`)
        : hostileName(prng);
    const type = isHarmless ? prng.pick(["file", "file", "directory"] as const) : prng.pick(TYPES);
    const entry: Entry = {
      name: prng.chance(0.7) ? `package/${name}` : name,
      type,
      ...(/link/.test(type) && { linkname: leadOut(prng, outside) }),
      ...(!isHarmless && prng.chance(0.1) && { pax: { path: `package/${leadOut(prng, `${outside}/new`)}` } }),
    };
    add(tar, entry, "x".repeat(prng.int(prng.pick([2, 1000, 200_000]))));
  }
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return damage(prng, Buffer.concat(chunks), isHarmless);
}

/** The library makes no archive of some names. */
function add(tar: Pack, entry: Entry, body: string): void {
  const isFile = entry.type === "file" || entry.type === "contiguous-file";
  try {
    tar.entry(entry as Header, isFile ? body : "");
  } catch {}
}

function harmlessName(prng: Prng): string {
  return Array.from(
    { length: prng.between(1, 4) },
    () => `${prng.pick(["a", "b", "lib"])}${prng.int(1000)}`,
  ).join("/");
}

function damage(prng: Prng, tar: Buffer, isHarmless: boolean): Buffer {
  const kind = isHarmless
    ? "none"
    : prng.weighted({ none: 4, bits: 2, cut: 1, "cut after": 1, twice: 1, zeros: 1, noise: 1 });
  if (kind === "bits")
    for (let count = prng.between(1, 20); count > 0; count--) tar[prng.int(tar.length)] = prng.int(256);
  if (kind === "cut") return gzipSync(tar.subarray(0, prng.int(tar.length)));
  if (kind === "zeros") return gzipSync(Buffer.concat([tar, Buffer.alloc(4 * 1024 * 1024)]));
  if (kind === "noise") return Buffer.from(Array.from({ length: prng.int(2000) }, () => prng.int(256)));
  const compressed = gzipSync(tar);
  if (kind === "cut after") return compressed.subarray(0, prng.int(compressed.length));
  return kind === "twice" ? Buffer.concat([compressed, compressed]) : compressed;
}

const KEYS = [
  "main",
  "module",
  "browser",
  "exports",
  "imports",
  "types",
  "version",
  "name",
  "dependencies",
  "gypfile",
  "type",
  "sideEffects",
];
const PATHS = [
  ".",
  "./a",
  "./*",
  "./a/*",
  "./*/b",
  "./a/",
  "./**",
  "*",
  "",
  "./__proto__",
  "./package.json",
  "#a",
  "#a/*",
  "import",
  "types",
  "default",
];

/** The text of a package.json. */
export function hostileManifest(prng: Prng, outside: string): string {
  const members: [string, unknown][] = [["version", "1.0.0"]];
  if (prng.chance(0.4)) {
    const target = leadOut(prng, `${outside}/*`);
    members.push([
      "exports",
      {
        ".": "./index.js",
        [prng.pick(["./*", "./a/*", "./*.js"])]: prng.pick([target, { default: target }]),
      },
    ]);
  }
  for (let count = prng.int(6); count > 0; count--)
    members.push([prng.pick(KEYS), hostileValue(prng, outside, 4)]);
  const text = `{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")}}`;
  return prng.weighted({ whole: 9, cut: 1 }) === "cut" ? text.slice(0, prng.int(text.length)) : text;
}

function hostileValue(prng: Prng, outside: string, depth: number): unknown {
  const kind = prng.weighted({
    out: 4,
    path: 3,
    object: depth > 0 ? 5 : 0,
    list: depth > 0 ? 1 : 0,
    odd: 1,
    long: 0.2,
  });
  if (kind === "out") return leadOut(prng, prng.pick([outside, `${outside}/index.js`, `${outside}/*`]));
  if (kind === "path") return prng.pick(["./index.js", "./a.js", "./a/*.js", "./*", ...PATHS]);
  if (kind === "odd") return prng.pick([null, 0, -1, true, "", [], {}, "\u0000", "\ud800"]);
  if (kind === "long") return "*".repeat(prng.int(5000));
  const parts = Array.from({ length: prng.int(5) }, () => hostileValue(prng, outside, depth - 1));
  if (kind === "list") return parts;
  return Object.fromEntries(parts.map((part) => [prng.pick(PATHS), part]));
}

const LOCATIONS = ["node_modules/x", "node_modules/@a/b", "node_modules/x/node_modules/y", "node_modules/../../x", "node_modules/x/../../y",
  "packages/x", "", "..", "__proto__", "constructor", "node_modules/", "node_modules/x/", "node_modules//x", "/node_modules/x",
  "node_modules/node_modules", "node_modules/.bin", "node_modules\\x", "node_modules/x/node_modules/", "node_modules/@a"]; // biome-ignore format: one list

/** A package-lock.json that names `x`, more or less. */
export function hostileLock(prng: Prng, outside: string): unknown {
  const packages: [string, unknown][] = prng.chance(0.8)
    ? [["node_modules/x", hostileMember(prng, outside)]]
    : [];
  for (let count = prng.int(12); count > 0; count--) {
    const location = prng.weighted({ known: 3, out: 1, name: 1 });
    const place = {
      known: prng.pick(LOCATIONS),
      out: `node_modules/${leadOut(prng, outside)}`,
      name: hostileName(prng),
    };
    packages.push([place[location], hostileMember(prng, outside)]);
  }
  const text = packages.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",");
  const version =
    prng.weighted({ good: 8, odd: 1 }) === "good"
      ? prng.pick(["2", "3"])
      : prng.pick(["1", "4", '"3"', "null"]);
  return JSON.parse(`{"lockfileVersion":${version},"packages":${prng.chance(0.95) ? `{${text}}` : "[]"}}`);
}

function hostileMember(prng: Prng, outside: string): unknown {
  if (prng.chance(0.05)) return prng.pick([null, 1, "x", []]);
  return {
    version: prng.pick(["1.0.0", "", "..", 1, null]),
    resolved: prng.pick([leadOut(prng, outside), "https://registry.invalid/x.tgz"]),
    ...(prng.chance(0.3) && { link: prng.pick([true, "true", 1, null]) }),
    ...(prng.chance(0.5) && { integrity: prng.pick(["sha512-AAAA", "", 1, null]) }),
    ...(prng.chance(0.3) && { dependencies: { inner: leadOut(prng, outside) } }),
  };
}

/** The text of a module. */
export function hostileModule(prng: Prng, outside: string): string {
  const lines = Array.from({ length: prng.between(1, 12) }, (_, index) => {
    const place = JSON.stringify(
      leadOut(prng, prng.pick([outside, `${outside}/index.js`, `${outside}/data.json`])),
    );
    return prng.pick([
      `try { exports.e${index} = require(${place}); } catch {}`,
      `exports.f${index} = () => import(${place});`,
      `try { exports.g${index} = require(${place} + ""); } catch {}`,
      `export * as h${index} from ${place};`,
      `import i${index} from ${place} with { type: "text" };`,
      `exports.j${index} = new URL(${place}, import.meta.url);`,
      `exports.k${index} = require("./link/index.js");`,
      `exports.l${index} = require("./linked.js");`,
      `//# sourceMappingURL=${JSON.parse(place)}`,
      `/// <reference path=${place} />`,
      `exports.m${index} = ${"[".repeat(prng.pick([10, 5000]))}`,
      `}); globalThis.out${index} = 1; ({`,
      `exports.n${index} = \`${"x".repeat(prng.int(10_000))}\`;`,
    ]);
  });
  return lines.join("\n");
}
