/**
 * `npm run bench -- truth`: runs the corpus in bench/truth/cases on both environments and on npm peers, and counts
 * scripts with the right outcome, scripts that fail or warn with the cause, and silently wrong ones. `--only=<part of
 * a name>` picks scripts, `--on=<title part>,…` runners, `--write` renews docs/correctness.md. Needs a build.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { transform } from "esbuild";
import { installPackages } from "../peers/fetch.ts";
import { openCyrnel } from "./cyrnel.ts";
import { type MockApi, openMockApi } from "./mock-api.ts";
import { type Expectation, type Feature, judge, type Outcome, type Verdict } from "./outcome.ts";
import { PEERS, type TruthRunner } from "./peers.ts";

const TIMEOUT_MS = 5000;
/** Requests of a failed script may still arrive, and so may all requests of a runner that does not wait for them. */
const SETTLE_MS = 150;
const CASES = join(import.meta.dirname, "cases");
const EVERY: readonly Feature[] = [
  "cyrnel",
  "openapi",
  "mcp",
  "graphql",
  "approvals",
  "completion",
  "typescript",
];

interface Case {
  /** Such as `pending/loop`. */
  name: string;
  about: string;
  expected: Expectation;
  code: string;
}

interface Runner {
  title: string;
  features: readonly Feature[];
  open(api: MockApi): Promise<TruthRunner>;
}

interface Finding extends Case {
  verdict: Verdict;
  outcome: Outcome;
}

function readCases(): Case[] {
  return globSync("*/*.ts", { cwd: CASES })
    .sort()
    .map((file) => {
      const [about = "", expectation = "", ...code] = readFileSync(join(CASES, file), "utf8").split("\n");
      const expected = JSON.parse(expectation.replace("// expect ", "")) as Expectation;
      return {
        name: file.replace(".ts", ""),
        about: about.replace("// ", ""),
        expected,
        code: code.join("\n"),
      };
    });
}

const runners: Runner[] = [
  ...["typescript-process", "typescript-ivm"].map(
    (environment): Runner => ({
      title: `Cyrnel, \`${environment}\``,
      features: EVERY,
      open: (api: MockApi) => openCyrnel(environment, api),
    }),
  ),
  ...PEERS.map(
    (peer): Runner => ({
      title: peer.title,
      features: ["typescript"],
      async open(api: MockApi) {
        return peer.open(api.url, await installPackages(peer.packages));
      },
    }),
  ),
];

async function runAll(runner: Runner, cases: readonly Case[]): Promise<Finding[]> {
  await using api = await openMockApi();
  const opened = await runner.open(api);
  const isOurs = runner.features === EVERY;
  const findings: Finding[] = [];
  try {
    for (const one of cases) {
      const { expected } = one;
      if (!(expected.needs ?? []).every((feature) => runner.features.includes(feature))) continue;
      api.reset();
      const code = isOurs ? one.code : await toJavaScript(one.code);
      if (code === null) continue;
      const attempt = await opened.run(code, expected.timeoutMs ?? TIMEOUT_MS);
      if (!isOurs || !attempt.ok) await sleep(SETTLE_MS);
      const outcome = { ...attempt, effects: [...api.effects] };
      findings.push({ ...one, outcome, verdict: judge(expected, outcome) });
    }
  } finally {
    await opened[Symbol.asyncDispose]?.();
  }
  return findings;
}

/** Returns null if the script cannot be a function body, for example because of `export`. */
async function toJavaScript(code: string): Promise<string | null> {
  const wrapped = `(async () => {\n${code}\n})`;
  try {
    const { code: made } = await transform(wrapped, { loader: "ts", target: "es2023" });
    return made.replace(/^\(async \(\) => \{/, "").replace(/\}\);\n$/, "");
  } catch {
    return null;
  }
}

// A call may fail after its sandbox is gone, or its result may not be transferable: an embedder has to expect these.
process.on("unhandledRejection", () => {});

const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
const only = option("only");
const on = option("on")?.split(",");
const cases = readCases().filter(({ name }) => only === undefined || name.includes(only));
const results: { title: string; findings: Finding[] }[] = [];

for (const runner of runners) {
  if (on !== undefined && !on.some((part) => runner.title.includes(part))) continue;
  const findings = await runAll(runner, cases).catch((error: Error) => {
    console.error(`${runner.title}: ${error.message}`);
    return [];
  });
  results.push({ title: runner.title, findings });
  const { right, loud, wrong, share } = countOf(findings);
  console.log(
    `${runner.title}: ${findings.length} scripts, ${right} right (${share}), ${loud} loud, ${wrong} silently wrong`,
  );
  const isOurs = runner.features === EVERY;
  for (const { name, verdict, outcome, about } of findings) {
    if (verdict === "right" || (!isOurs && on === undefined)) continue;
    const { ok, value, message, warnings, effects, asks, printed } = outcome;
    const came = ok ? { value, warnings, printed } : { message };
    const shown = inspect({ ...came, effects, asks }, { breakLength: Number.POSITIVE_INFINITY });
    console.log(`  ${verdict.padEnd(5)} ${name}: ${about}\n        ${shown.slice(0, 600)}`);
  }
}
if (process.argv.includes("--write"))
  writeFileSync(join(import.meta.dirname, "../../docs/correctness.md"), toPage());
const ours = results.slice(0, 2).map(({ findings }) => countOf(findings));
if (ours.some(({ wrong, right, count }) => wrong > 0 || right < 0.9 * count)) process.exitCode = 1;

function countOf(findings: readonly Finding[]) {
  const of = (verdict: Verdict) => findings.filter((finding) => finding.verdict === verdict).length;
  const count = findings.length;
  const share = count === 0 ? "–" : `${Math.round((100 * of("right")) / count)} %`;
  return { count, right: of("right"), loud: of("loud"), wrong: of("wrong"), share };
}

function toPage(): string {
  const groups = [...new Set(cases.map(({ name }) => name.split("/")[0] as string))];
  const row = (title: string, findings: readonly Finding[]) => {
    const { count, right, loud, wrong, share } = countOf(findings);
    return `| ${title} | ${count} | ${right} (${share}) | ${loud} | ${wrong} |`;
  };
  const cell = (findings: readonly Finding[]) => {
    if (findings.length === 0) return "–";
    const { right, loud, wrong } = countOf(findings);
    return `${right} / ${loud} / ${wrong}`;
  };
  const byGroup = groups.map((group) => {
    const cells = results.map(({ findings }) =>
      cell(findings.filter(({ name }) => name.startsWith(`${group}/`))),
    );
    return `| ${group} | ${cells.join(" | ")} |`;
  });
  const date = new Date().toISOString().slice(0, 10);
  return `# Correctness

Models write scripts that are slightly wrong: a missing \`await\`, a \`Map\` instead of JSON, an id too large for a number. This page counts
how runners handle ${cases.length} such scripts. **Right**: the work is done and the caller gets the value the script intends
(or, if a script has no right value, the run fails and names the cause). **Loud**: a failure, or a warning that names the cause.
**Silently wrong**: success, but work was lost or data changed. Scripts that need a feature a runner lacks are not counted in its row.

\`npm run bench -- truth --write\` takes the measurements and writes this page. The scripts are plain files in
[bench/truth/cases](../bench/truth/cases): the first line describes the script, the second gives the expected outcome. Measured on
${date} on ${cpus()[0]?.model.trim()}, Node ${process.versions.node}; each script ran once, with a time limit of ${TIMEOUT_MS / 1000} s.

| runner | scripts | right | loud | silently wrong |
| --- | --: | --: | --: | --: |
${results.map(({ title, findings }) => row(title, findings)).join("\n")}

By kind of script, as right / loud / silently wrong:

| kind | ${results.map(({ title }) => title.replace(/ \d.*$/, "")).join(" | ")} |
| --- | ${results.map(() => "--:").join(" | ")} |
${byGroup.join("\n")}

\`node\` and \`deno\` run a program that prints the script's return value; a printed value counts as right if it is
unambiguous. The other peers get the tools as host functions that call the same mock API with \`fetch\` and \`JSON.parse\`, as in their own
documentation. None of the peers can import OpenAPI, MCP or GraphQL, so those scripts are not counted for them; nor are scripts that end in
an expression instead of a \`return\`. TypeScript is compiled to JavaScript for them first. The embedding is in
[bench/truth/peers.ts](../bench/truth/peers.ts).
`;
}
