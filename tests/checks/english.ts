/**
 * `node tests/checks/english.ts [--write] [room]`: how comments and commits are worded, and whether the files they name exist.
 * english.json holds the number of badly worded comments that each room may still have; `--write` lowers it, nothing
 * raises it. With a room it lists that room's comments.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findBase } from "./changed.ts";
import { type Comment, parse, readComments } from "./comments.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const BASELINE = path.join(import.meta.dirname, "english.json");
const SKIPPED = /^(CHANGELOG\.md$|client\/schema\.ts$|bench\/truth\/cases|tests\/wpt\/suite)/;
const MAX_SUBJECT_CHARACTERS = 60;

/** Headless clauses and glosses: each hides the noun that a reader needs. */
const BAD_WORDING = [
  /^(Of|What|Whether|By|Where|As)\b/,
  /\b(null|undefined|absent|true|false): (?!\d|true|false)/,
];
const NAMED_FILE = /(?<![\w./*<>{}$@:-])\w[\w./-]*\.(?:tsx?|sql|cjs|sh)\b(?![\w(*-])/g;
/** Names that stand for a file of the reader's, or of another project. */
const EXAMPLES = /^(script|squares|notes|lib)\.ts$|^modules\/notes\/|^(web\/processes\/)?failures-page\.tsx$/;

interface Found {
  file: string;
  comment: Comment;
}

const git = (...args: string[]) =>
  execFileSync("git", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 64 << 20 })
    .split("\n")
    .filter(Boolean);
const show = ({ file, comment }: Found) => `  ${file}:${comment.line} ${comment.text.slice(0, 120)}`;
const roomOf = (file: string) => file.split("/")[0] ?? "";

const tracked = [...new Set([...git("ls-files"), ...git("ls-files", "--others", "--exclude-standard")])];
const read = (file: string) => {
  try {
    return readFileSync(path.join(ROOT, file), "utf8");
  } catch {
    return "";
  }
};
const comments = tracked
  .filter((file) => /\.tsx?$/.test(file) && file.includes("/") && !SKIPPED.test(file))
  .flatMap((file) => readComments(parse(file, read(file))).map((comment): Found => ({ file, comment })));
if (comments.length < 1000) throw new Error(`Expected thousands of comments, found ${comments.length}.`);

const problems: string[] = [];

function checkWording(): void {
  const bad = comments.filter(({ comment }) => BAD_WORDING.some((pattern) => pattern.test(comment.text)));
  const byRoom = Map.groupBy(bad, ({ file }) => roomOf(file));
  const [listed] = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
  if (listed !== undefined) console.log((byRoom.get(listed) ?? []).map(show).join("\n"));
  const allowed = JSON.parse(readFileSync(BASELINE, "utf8")) as Record<string, number>;
  const lowered: Record<string, number> = {};
  for (const room of new Set(comments.map(({ file }) => roomOf(file)))) {
    const found = byRoom.get(room)?.length ?? 0;
    const limit = allowed[room] ?? 0;
    lowered[room] = Math.min(found, limit);
    if (found <= limit) continue;
    problems.push(
      `${room}/ has ${found} comments that start with Of, What, Whether, By, Where or As, or explain a value as "null: …"; english.json allows ${limit}. Name the thing, or delete the comment. List them with: node tests/checks/english.ts ${room}`,
    );
  }
  if (!process.argv.includes("--write")) return;
  const sorted = Object.fromEntries(Object.entries(lowered).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(BASELINE, `${JSON.stringify(sorted, null, 2)}\n`);
}

function checkFileNames(): void {
  const pages = tracked
    .filter((file) => file.endsWith(".md") && !SKIPPED.test(file))
    .flatMap((file) =>
      read(file)
        .split("\n")
        .map((text, index): Found => ({ file, comment: { line: index + 1, text } })),
    );
  for (const found of [...comments, ...pages]) {
    const made = roomOf(found.file) === found.file || found.file.startsWith("docs/") ? read(found.file) : "";
    for (const [name] of found.comment.text.matchAll(NAMED_FILE)) {
      const isKnown =
        EXAMPLES.test(name) ||
        made.includes(`> ${name}`) ||
        tracked.some((file) => file === name || file.endsWith(`/${name}`));
      if (!isKnown) problems.push(`No file is called ${name}:\n${show(found)}`);
    }
  }
}

function checkSubjects(): void {
  for (const subject of git("log", "--no-merges", "--format=%s", `${findBase()}..HEAD`)) {
    if (subject.length > MAX_SUBJECT_CHARACTERS)
      problems.push(
        `The subject of a commit has ${subject.length} characters, more than ${MAX_SUBJECT_CHARACTERS}: ${subject}`,
      );
    if (/^(An?|The|What|Of|Where|By|Whether|As)\b/.test(subject))
      problems.push(`The subject of a commit does not start with a verb ("Add …", "Fix …"): ${subject}`);
  }
}

checkWording();
checkFileNames();
checkSubjects();
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
}
