/**
 * Documentation of an environment, as Markdown for the author of a script (usually an agent). The text is the same
 * for both bundled environments, apart from the facts passed in.
 */
import { BUILTINS } from "../source/modules/names.ts";
import { PROTOCOL_LIMITS } from "../wire/protocol.ts";

export interface EnvironmentFacts {
  id: string;
  name: string;
  /** One to three sentences: how a run is isolated. */
  isolation: string;
  limits: {
    /** Memory of a run that requests no amount. */
    memoryMb: number;
    maxMemoryMb: number;
    /** CPU time of a run that requests no amount. Null is no limit. */
    cpuMs?: number | null;
    maxCalls: number;
    maxConcurrentCalls: number;
    /** Limit for one message from the script to its host, such as a call's parameters or an output. */
    maxMessageBytes: number;
    maxOutputBytes?: number;
    maxResultBytes?: number;
    /** Number of concurrent runs. Further ones wait in a queue. */
    slots?: number;
  };
  allowEval: boolean;
  allowWasm: boolean;
  differences?: readonly string[];
}

export function generateEnvironmentDocs(facts: EnvironmentFacts): string {
  return [
    `# ${facts.name} (\`${facts.id}\`)`,
    OVERVIEW,
    `Isolation: ${facts.isolation}`,
    FORMS,
    MODULES,
    GLOBALS,
    TOOLS,
    FILES,
    OUTPUT,
    ERRORS,
    EXAMPLE,
    describeLimits(facts),
    describeUnavailable(facts),
    describeDifferences(facts),
  ]
    .filter((section) => section !== "")
    .join("\n\n")
    .concat("\n");
}

const OVERVIEW = `A script runs once, alone; of it stays what it printed, put out, wrote to files or returned.
Prefer one script that makes many tool calls and returns only what you need.`;

const FORMS = `## What a script is

- A plain body (the main form) with top-level \`await\`; \`return\` or its last expression gives the result
- one function (called without arguments)
- a module body with \`export default\` of a value or a function.

Types are erased, not checked. ES2024 with its built-ins.`;

const MODULES = `## Imports

- npm packages that are installed here: \`import { z } from "zod"\`, \`import * as d from "npm:date-fns@4"\`
- Modules of Node: ${BUILTINS.filter((name) => !name.includes("/")).join(", ")}. \`Buffer\` is no global.
- Files of the workspace: \`import { x } from "./lib/x.ts"\`, JSON, and any other file as its text
- \`import()\` takes a literal name. Imports also stand in a body with top-level \`return\`.`;

const GLOBALS = `## Globals

- \`console\`: \`log\`, \`info\`, \`debug\` go to stdout; \`warn\`, \`error\`, \`trace\` to stderr
- \`setTimeout\`, \`setInterval\`, \`setImmediate\` and their \`clear\` functions, \`queueMicrotask\`
- \`structuredClone\`, \`URL\`, \`URLSearchParams\`, \`TextEncoder\`, \`TextDecoder\`, \`atob\`, \`btoa\`
- \`AbortController\`, \`AbortSignal\`, \`EventTarget\`, \`Event\`, \`CustomEvent\`, \`performance.now()\`
- \`fetch\`, \`Request\`, \`Response\`, \`Headers\`, \`FormData\`, \`Blob\`, \`File\`, streams. A request is what a rule of an http
  service allows, which adds credentials; the error of any other names the rules
- \`crypto.randomUUID()\`, \`crypto.getRandomValues()\`, \`crypto.subtle.digest()\`,
  \`crypto.subtle.sign()\` (HMAC)

The time zone is UTC.`;

const TOOLS = `## Tools

Tools are functions of installed services: they take one object and return a promise.

\`\`\`ts
const found = await tools.search({ query: "create issue", limit: 5 }); // found.packages: npm packages that fit
const details = await tools.describe.tool({ path: "github.createIssue" });
const issue = await tools.github.createIssue({ title: "Broken build" });
\`\`\`

- Where a service groups its tools the path is longer: \`tools.github.issues.list({ ... })\`
- \`cyrnel.discoverServices({ query?, limit? })\` lists services, \`cyrnel.discoverTools\` tools;
  \`cyrnel.getToolDocs({ serviceId, toolId })\` gives a signature
- \`cyrnel.ask({ message, schema? })\` asks a person and answers what they said
- \`cyrnel.input\` is the JSON \`input\` of the process: frozen; \`undefined\` without one
- \`cyrnel.process\` is \`{ id, ref }\` of this process

Calls are concurrent; a second argument \`{ signal }\` aborts one. \`tools\` cannot be enumerated: use \`tools.search\`.`;

const FILES = `## Files

\`cyrnel.files\` is the workspace of this run: the files it was given, by name (\`in/orders.csv\`), and those it writes, which become
its artifacts. All return promises.

- \`read(name, { offset?, length? })\` gives a \`Uint8Array\`; \`text(name)\`, \`json(name)\`; \`for await (const line of cyrnel.files.lines(name))\`
- \`list(prefix?)\`, \`stat(name)\`: \`{ name, size, contentType }\`; \`exists(name)\`
- \`write(name, text | bytes | Blob | stream | JSON)\`, \`append(name, ...)\`, \`remove(name)\`; a download of any size: \`write("a.zip", response.body)\`

A tool that takes bytes takes \`{ file: "in/photo.png" }\` too, and the answer of any tool can become a file that the script never
holds: \`tools.store.report({ ... }, { saveAs: "out/report.pdf" })\`.`;

const OUTPUT = `## What leaves the sandbox

- \`return value\`: the process's \`result\`. JSON data.
- \`cyrnel.output(object)\`: merged into the process's \`output\` (shallow, later keys win); visible while the script runs.

After \`return\` calls in progress and the code after them are finished; timers are not waited for.`;

const ERRORS = `## Errors

A failed call rejects with an \`Error\` that has \`name\`, \`message\`, \`code\` (of \`fetch\`: \`cause.code\`) and, where there
is one, \`status\`; of HTTP 400 and above \`headers\` and \`body\`, unless it has the second argument
\`{ throwOnError: false }\`. What is not caught ends the process as \`failed\` (\`script_error\`,
\`unhandled_rejection\`). Further reasons: \`syntax_error\`, \`timeout\`,
\`memory_limit\`, \`cpu_limit\`, \`output_limit\`, \`sandbox_violation\`, \`killed\`.`;

const EXAMPLE = `## Example

\`\`\`ts
const readings: [station: string, celsius: number][] = [["harbour", 11.5], ["hill", 7.25], ["harbour", 12]];
const averages: Record<string, number> = {};
for (const [station, group] of Map.groupBy(readings, ([name]) => name)) {
  averages[station] = group.reduce((sum, [, celsius]) => sum + celsius, 0) / group.length;
}
console.log(\`averaged \${readings.length} readings\`);
cyrnel.output({ stations: Object.keys(averages).length }); // output
return averages; // result: {"harbour":11.75,"hill":7.25}
\`\`\``;

function describeLimits({ limits }: EnvironmentFacts): string {
  const rows: [string, string][] = [
    ["time", "30 s unless `options.timeout` (ms, or `null` for none) says otherwise"],
    ["memory", `${limits.memoryMb} MB; \`options.memoryMb\` up to ${limits.maxMemoryMb}`],
    [
      "CPU time",
      typeof limits.cpuMs === "number"
        ? `${formatMs(limits.cpuMs)} unless \`options.cpuMs\` says otherwise`
        : "none unless `options.cpuMs` is given",
    ],
    ["tool calls", `${limits.maxCalls} in a run, ${limits.maxConcurrentCalls} at the same time`],
    ["parameters of a call", formatBytes(limits.maxMessageBytes)],
    ["`output`", formatBytes(limits.maxOutputBytes ?? PROTOCOL_LIMITS.maxOutputBytes)],
    ["`result`", formatBytes(limits.maxResultBytes ?? PROTOCOL_LIMITS.maxResultBytes)],
    ["stdout, stderr", "cut at 1 MiB, unless the server sets another size"],
  ];
  if (limits.slots !== undefined) rows.push(["runs at once", `${limits.slots}; further ones are queued`]);
  return [
    "## Limits",
    "",
    "| what | limit |",
    "| --- | --- |",
    ...rows.map(([what, limit]) => `| ${what} | ${limit} |`),
  ].join("\n");
}

function describeUnavailable(facts: EnvironmentFacts): string {
  const rows: [string, string][] = [
    ["`WebSocket`, sockets", "`fetch`, or a tool of an installed service"],
    ["`require`", "`import`"],
    ["files of the machine, `process`, environment variables", "`cyrnel.files`, `cyrnel.input`"],
    ["secrets and API keys", "a tool adds those of its service; a script never sees them"],
  ];
  if (!facts.allowEval) rows.push(["`eval`, `new Function`", "ordinary functions"]);
  if (!facts.allowWasm) rows.push(["`WebAssembly`", "JavaScript"]);
  return [
    "## What is unavailable",
    "",
    "| unavailable | instead |",
    "| --- | --- |",
    ...rows.map(([what, instead]) => `| ${what} | ${instead} |`),
  ].join("\n");
}

function describeDifferences(facts: EnvironmentFacts): string {
  const lines = [...(facts.differences ?? [])];
  if (facts.allowEval) lines.push("`eval` and `new Function` are switched on here.");
  if (facts.allowWasm) lines.push("`WebAssembly` is switched on here.");
  if (lines.length === 0) return "";
  return ["## Particular to this environment", "", ...lines.map((line) => `- ${line}`)].join("\n");
}

/** Formats bytes in the largest binary unit that gives an integer, or with one decimal. */
function formatBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[unit]}`;
}

function formatMs(milliseconds: number): string {
  return milliseconds >= 1000 ? `${milliseconds / 1000} s` : `${milliseconds} ms`;
}
