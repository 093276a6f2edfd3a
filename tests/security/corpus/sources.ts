/** Probes: sources that are more than a script, or no script: they leave their wrapper, or are more than a parser can take. */
import { expect } from "vitest";
import type { Probe } from "./probe.ts";

/** Sources that try to leave the function they are put into; each runs as a script or is refused. */
const WRAPPERS: [name: string, script: string][] = [
  ["closed-arrow", 'console.log("in"); }); console.log("FORGED-FRAME"); (async () => {'],
  ["closed-call", '})(); console.log("FORGED-FRAME"); (async () => { console.log("in")'],
  ["closed-brace", '} console.log("FORGED-FRAME"); {'],
  ["closed-twice", '}}) ; console.log("FORGED-FRAME"); ({ a() { {'],
  ["open-comment", "/*"],
  ["open-template", "`"],
  ["open-string", '"'],
  ["close-comment", '*/ }); console.log("FORGED-FRAME"); (async()=>{ /*'],
  [
    "html-comment",
    '<!-- }); console.log("FORGED-FRAME"); (async()=>{\nreturn 1\n--> }); console.log("FORGED-FRAME")',
  ],
  ["line-separator", '// \u2028}); console.log("FORGED-FRAME"); (async()=>{'],
  [
    "source-map-comment",
    '//# sourceMappingURL=data:application/json,{}\n//# sourceURL=/etc/passwd\nthrow new Error("x")',
  ],
  ["fence-in-fence", '```ts\nconsole.log("in")\n```\n}); console.log("FORGED-FRAME"); ({\n```'],
  ["class-body", 'static { } }); console.log("FORGED-FRAME"); (class {'],
  ["await-as-name", "return; } var await = 1; async function FORGED() {"],
];

const ODD_SOURCES: [
  name: string,
  script: string,
  reasons: readonly ("ok" | "script_error" | "syntax_error")[],
][] = [
  ["empty", "", ["ok"]],
  ["blank", " \n\t\n", ["ok"]],
  ["only-open-comment", "/*", ["syntax_error"]],
  ["html-comment", "<!-- x\nreturn 1", ["ok", "syntax_error"]],
  ["bom", "\ufeffreturn 1", ["ok"]],
  ["separators", "return '\u2028\u2029'", ["ok"]],
  ["hashbang", "#!/usr/bin/env node\nreturn 1", ["ok"]],
  ["nul", "return '\0'", ["ok", "syntax_error"]],
  ["lone-surrogates", "return '\ud800' + '\udc00'", ["ok"]],
  ["noncharacters", "return '\ufffe\uffff'", ["ok"]],
  ["huge-string", `return "${"x".repeat(95_000)}".length`, ["ok"]],
  ["huge-comment", `/*${"*".repeat(95_000)}*/ return 1`, ["ok"]],
  ["many-lines", `${"\n".repeat(95_000)}return 1`, ["ok"]],
  [
    "many-parentheses",
    `return ${"(".repeat(40_000)}1${")".repeat(40_000)}`,
    ["ok", "syntax_error", "script_error"],
  ],
  [
    "many-brackets",
    `return ${"[".repeat(40_000)}${"]".repeat(40_000)}`,
    ["ok", "syntax_error", "script_error"],
  ],
  ["many-terms", `return ${"1+".repeat(40_000)}1`, ["ok", "syntax_error", "script_error"]],
  [
    "many-members",
    `try { require } catch {} try { return globalThis${".a".repeat(40_000)} } catch { return 1 }`,
    ["ok", "syntax_error", "script_error"],
  ],
  ["many-nots", `return ${"!".repeat(90_000)}1`, ["ok", "syntax_error", "script_error"]],
  [
    "many-templates",
    `return ${"`${".repeat(10_000)}1${"}`".repeat(10_000)}`,
    ["ok", "syntax_error", "script_error"],
  ],
  [
    "many-groups",
    `return /${"(".repeat(40_000)}${")".repeat(40_000)}/.source.length`,
    ["ok", "syntax_error", "script_error"],
  ],
  ["open-brackets", "([{".repeat(30_000), ["syntax_error"]],
];

export const sourceProbes: Probe[] = [
  ...WRAPPERS.map(
    ([name, script]): Probe => ({
      id: `source.${name}`,
      entries: [25],
      steals: "a place outside of the function a script is put into",
      script,
      observe(run) {
        expect(["failed", "success"]).toContain(run.state);
        expect(run.stdout).not.toContain("FORGED-FRAME");
        expect(run.error?.stack ?? "").not.toMatch(/passwd|node:|child\.js|slot\.js/);
      },
    }),
  ),
  ...ODD_SOURCES.map(
    ([name, script, reasons]): Probe => ({
      id: `source.odd-${name}`,
      entries: [26],
      steals: "the host's parsers: a source that is empty, broken, enormous or nested without end",
      script,
      observe: reasons as Probe["observe"],
    }),
  ),
  {
    id: "source.endless-to-read",
    entries: [26],
    steals: "the host's transpiler, which all runs share, for minutes: two thousand arrows in six kilobytes",
    script: `return ${"a=>".repeat(2_000)}1`,
    async observe(run, bench) {
      expect([run.state, run.error?.reason]).toEqual(["failed", "syntax_error"]);
      expect(run.error?.message).toMatch(/too deeply|longer than/);
      expect((await bench.run(`return ${run.wallMs}`)).state).toBe("success");
    },
  },
];
