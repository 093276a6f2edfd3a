/** Names that an attacker would give to files, and specifiers that one would import: made from seeds, of what has broken others. */
import type { Prng } from "../bridge-fuzz/prng.ts";

const SEGMENTS = [
  "a", "b.ts", "lib", "index.ts", "x.json", "in.csv", "..", ".", "...", "", " ", ". .", "..\u0000", "\u2024\u2024", "\uff0e\uff0e",
  "%2e%2e", "..%2f", "..%5c", "%00", "~", "~root", "$HOME", "`id`", "$(id)", "|id", ";id", "-rf", "--", "*", "?", "CON", "NUL",
  "aux.txt", "com1", "a:b", "C:", "a::$DATA", "a\\b", "\\\\host\\share", "..\\..", "\u202egnp.exe", "\u200f", "\u2028", "\u2029",
  "\u0000", "\n", "\r\n", "\u007f", "\u0085", "\u001b[2J", "e\u0301", "\u00e9", "\u212b", "\ufb01", "\ud800", "\udfff", "\ud83d\ude00", "\ufeff",
  "\uffff", "__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then", "etc", "passwd", "proc", "self", "environ", "fd",
  "dev", "shm", "node_modules", ".git", "config", "package.json", ".ssh", "id_rsa", "PaxHeader", "././@LongLink", "symlink", "a".repeat(250), "b".repeat(256),
  "\u{1f4a9}".repeat(64), "\u00fc".repeat(128),
] as const; // biome-ignore format: one list

const PREFIXES = [
  "",
  "",
  "",
  "/",
  "//",
  "./",
  "../",
  "../../",
  "./../",
  "~/",
  "file:///",
  "file:",
  "\\\\?\\",
  "C:\\",
  "/proc/self/",
  "/etc/",
  " /",
  "\u0000/",
] as const;
const SPECIFIERS = [
  "node:fs",
  "node:",
  "node:node:fs",
  "node:fs/../process",
  "NODE:FS",
  "fs\u0000",
  "fs/promises/..",
  "process",
  "module",
  "vm",
  "node:vm",
  "node:sqlite",
  "node:ffi",
  "node:test",
  "cyrnel:link",
  "cyrnel:realm",
  "data:text/javascript,1",
  "data:application/json,{}",
  "blob:x",
  "http://127.0.0.1/",
  "https://x/y.ts",
  "file:///etc/passwd",
  "#internal",
  "#runner/x.ts",
  "npm:zod",
  "npm:../x",
  "jsr:@a/b",
  "zod",
  "@a/b",
  "@",
  "@/",
  "__proto__",
  "constructor",
  "toString",
] as const;

/** A name for a file. */
export function hostileName(prng: Prng): string {
  const segments = Array.from({ length: prng.between(1, prng.pick([1, 2, 3, 8, 40])) }, () => segment(prng));
  return (
    prng.pick(PREFIXES) +
    segments.join(prng.pick(["/", "/", "/", "//", "\\"])) +
    prng.pick(["", "", "", "/", ".", " "])
  );
}

function segment(prng: Prng): string {
  if (prng.chance(0.8)) return prng.pick(SEGMENTS);
  return String.fromCharCode(
    ...Array.from({ length: prng.int(12) }, () => prng.int(prng.pick([0x80, 0x100, 0x10000]))),
  );
}

/** What stands after `from`. */
export function hostileSpecifier(prng: Prng): string {
  return prng.weighted({ module: 1, relative: 3, name: 2 }) === "module"
    ? prng.pick(SPECIFIERS) + prng.pick(["", "", "/x", "?a", "#b", "\u0000"])
    : prng.pick(["./", "../", "/", "", "./a/../", "././"]) + hostileName(prng);
}

/**
 * Whether this may be the name of a file, written down a second time and by hand: nothing here shares a line with the code under
 * test.
 */
export function mayNameAFile(name: string): boolean {
  if (name.length === 0 || Buffer.byteLength(name) > 255) return false;
  let hasOdd = false;
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    const [before, after] = [name.charCodeAt(index - 1), name.charCodeAt(index + 1)];
    if (unit < 32 || (unit >= 127 && unit < 160) || unit === 92) hasOdd = true;
    if ([0x2028, 0x2029, 0x200e, 0x200f].includes(unit) || (unit >= 0x202a && unit <= 0x202e)) hasOdd = true;
    if (unit >= 0x2066 && unit <= 0x2069) hasOdd = true;
    if (unit >= 0xd800 && unit <= 0xdbff && !(after >= 0xdc00 && after <= 0xdfff)) hasOdd = true;
    if (unit >= 0xdc00 && unit <= 0xdfff && !(before >= 0xd800 && before <= 0xdbff)) hasOdd = true;
  }
  if (hasOdd || name.normalize("NFC") !== name) return false;
  return name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}
