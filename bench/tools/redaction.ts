/**
 * What replacing secrets costs: `npm run bench -- redaction`. Building the automaton (once after each change of a secret),
 * megabytes of text per second without a find, with text made to hit the slow path, and a small tool answer.
 */
import { randomBytes } from "node:crypto";
import { createRedactor, type Redactor } from "#api/secrets/redactor.ts";

const ROUNDS = 5;
const SMALL_ANSWERS = 10_000;

const ordinary = JSON.stringify(
  Array.from({ length: 40_000 }, (_, id) => ({
    id,
    name: `user number ${id}`,
    url: `https://api.example.com/users/${id}/repos`,
    token: randomBytes(20).toString("base64"),
  })),
);

for (const count of [0, 1, 100, 1000, 5000]) {
  const values = Array.from({ length: count }, () => `github_pat_${randomBytes(30).toString("base64")}`);
  const redactor = createRedactor();
  for (const [index, value] of values.entries()) redactor.setOwner(`service:${index}`, { value });
  const buildMs = time(() => redactor.text("anything"));
  const nearly = (values[0] ?? "github_pat_").slice(0, -1);
  const hostile = nearly.repeat(Math.ceil(4_000_000 / nearly.length));
  const answer = { ok: true, list: [1, 2, 3], name: "a small answer" };
  const smallMs = time(() => {
    for (let index = 0; index < SMALL_ANSWERS; index += 1) redactor.value(answer);
  });
  const cells = [
    `${count} secrets`,
    `build ${buildMs.toFixed(1)} ms`,
    `ordinary ${speed(redactor, ordinary)} MB/s`,
    `hostile ${speed(redactor, hostile)} MB/s`,
    `small answer ${((smallMs * 1000) / SMALL_ANSWERS).toFixed(2)} µs`,
  ];
  console.log(cells.join("  "));
}

/** Of the fastest round. */
function speed(redactor: Redactor, text: string): string {
  const rounds = Array.from({ length: ROUNDS }, () => time(() => redactor.text(text)));
  return (text.length / 1000 / Math.min(...rounds)).toFixed(0);
}

function time(work: () => void): number {
  const startedMs = performance.now();
  work();
  return performance.now() - startedMs;
}
