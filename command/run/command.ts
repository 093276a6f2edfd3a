/** `cyrnel run`: scripts from files or standard input, on the server or on this machine. */
import { existsSync, watch } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, resolve } from "node:path";
import type { Command } from "commander";
import { Option } from "commander";
import { addCommand } from "../commands/resource.ts";
import { EXIT, type ExitCode, usageFailure } from "../failure.ts";
import {
  collect,
  parseCount,
  parseDuration,
  parseMemory,
  parseOneOf,
  parsePair,
  readText,
} from "../options.ts";
import { act, type Session, type Shell } from "../session.ts";
import { checkArtifactsFolder, readFolder } from "./folder.ts";
import { readInput } from "./input.ts";
import type { LocalRunOptions } from "./local.ts";
import { openRemoteRun } from "./remote.ts";
import { emptyReport, type RunEnding, type RunLimits, type RunScript, showEnding } from "./report.ts";
import { checkNames } from "./requirements.ts";
import { findPlaces } from "./root.ts";
import type { Reporter } from "./suite.ts";

/** The largest limit a server can have. */
const MAX_SCRIPT_BYTES = 1_000_000;
const ONE = { scripts: 1, jobs: 1 };

interface RunFlags {
  local?: true;
  timeout?: number;
  memory?: number;
  cpu?: number;
  ref?: string;
  watch?: true;
  require?: string[];
  isolation?: "strict" | "standard" | "development";
  input?: string;
  set?: [name: string, value: unknown][];
  dir?: string;
  artifacts?: string;
  root?: string;
  tools?: string;
  yes?: true;
  jobs?: number;
  reporter?: string[];
  reportFile?: string;
}

export function addRun(program: Command, shell: Shell): void {
  addCommand(
    program,
    "run",
    "Runs a script and prints its result as JSON. Its output appears live on stdout and stderr. The last line on stderr and the exit code say how it ended. Several scripts run at once, a line for each; the exit code is the highest of theirs.",
  )
    .argument(
      "<script...>",
      "files with TypeScript or JavaScript, or quoted patterns such as 'scripts/**/*.ts'; - reads standard input; arguments after -- are cyrnel.input.args",
    )
    .option("--local", "run on this machine, without a server")
    .option("--timeout <time>", "time limit: 500ms, 30s, 5m, none", parseDuration)
    .option("--memory <size>", "memory limit: 256, 256mb, 1gb", parseMemory)
    .option("--cpu <time>", "CPU time limit: 500ms, 10s", parseDuration)
    .option("--ref <label>", "your own label for the run")
    .option("--input <file>", "JSON for cyrnel.input; - reads standard input")
    .option(
      "--set <name=value>",
      "set a member of the input, as JSON or text; a.b=1 sets b of a; repeatable",
      (text: string, before: RunFlags["set"]) => [...(before ?? []), parsePair(text)],
    )
    .option("--dir <folder>", "folder with the script's files (cyrnel.files)")
    .option("--artifacts <folder>", "folder for the files the script writes")
    .option(
      "--root <folder>",
      "folder that must contain imported files, and packages with --local (default: the nearest folder with package.json or .git, else the script's; for packages the repository or workspace around it)",
    )
    .option("--watch", "run again when the script or an imported file changes, until Ctrl-C")
    .option(
      "--require <names>",
      "refuse to run without this isolation: landlock,seccomp,cgroup,strict,…",
      collect,
    )
    .addOption(
      new Option("--isolation <level>", "minimum isolation of --local (default: strict)").choices([
        "strict",
        "standard",
        "development",
      ]),
    )
    .option("--tools <file>", "with --local: module whose functions are the script's tools")
    .option("--yes", "with --tools: call destructive tools without asking")
    .option("--jobs <count>", "scripts at once (default: one per core)", parseCount)
    .option(
      "--reporter <names>",
      "report of several scripts: junit, json or tap; github adds annotations on standard output",
      collect,
    )
    .option("--report-file <file>", "write the report of junit, json or tap to this file")
    .addHelpText(
      "after",
      `
Exit codes: 0 success, 1 script failed, 2 usage, 3 timeout, 4 memory or CPU limit, 5 sandbox violation, 6 canceled
(also by Ctrl-C), 69 server unavailable, 77 key not accepted, 78 required isolation not available.

Examples:
  cyrnel run script.ts
  cyrnel run script.ts --local --timeout 10s --memory 256
  echo 'return 6 * 7' | cyrnel run - --local
  cyrnel run script.ts --local --require landlock,seccomp --json
  cyrnel run script.ts --local --tools tools.ts
  cyrnel run script.ts --input orders.json --set currency=EUR --set limits.max=10
  cyrnel run script.ts --dir ./data --artifacts ./out
  cyrnel run src/script.ts --root .
  cyrnel run script.ts --watch
  cyrnel run script.ts -- --verbose 3
  cyrnel run 'scripts/**/*.ts' --local --jobs 4
  cyrnel run 'scripts/**/*.ts' --local --reporter github,junit --report-file junit.xml`,
    )
    .action(act(shell, run));
}

async function run(session: Session, given: string[], flags: RunFlags): Promise<ExitCode> {
  const { args } = session.shell;
  const own = args.includes("--") ? args.slice(args.indexOf("--") + 1) : [];
  const [path, ...others] = given.slice(0, given.length - own.length);
  if (path === undefined) throw usageFailure("Expected a script before --; found none.");
  checkFlags(path, flags);
  if (flags.artifacts !== undefined) await checkArtifactsFolder(flags.artifacts);
  const limits: RunLimits = {
    ...readLimits(flags),
    input: await readInput(session, flags.input, flags.set ?? [], own),
    ...(flags.artifacts !== undefined && { artifactsFolder: flags.artifacts }),
  };
  await using undo = new AsyncDisposableStack();
  const isAlone = others.length === 0 && !isPattern(path) && flags.reporter === undefined;
  if (!isAlone) return await runSeveral(session, [path, ...others], flags, limits, undo);
  if (flags.jobs !== undefined || flags.reportFile !== undefined) {
    throw usageFailure(`${flags.jobs === undefined ? "--report-file" : "--jobs"} needs several scripts.`);
  }
  let script = await readScript(session, path, flags);
  const runScript = await openRunner(session, path, flags, ONE, undo);
  for (;;) {
    using changes = flags.watch ? watchFiles([path, ...script.paths]) : undefined;
    const ending = script.refused ?? (await runScript(script.code, { ...limits, ...script.given }));
    const exitCode = showEnding(session, ending, path);
    if (changes === undefined || session.signal.aborted) return exitCode;
    session.stderr.write(session.stderr.paint("dim", `Watching ${path} …\n`));
    if (!(await changes.next(session.signal))) return EXIT.ok;
    script = await readScript(session, path, flags);
  }
}

function isPattern(text: string): boolean {
  return /[*?[{]/.test(text) && !existsSync(text);
}

async function runSeveral(
  session: Session,
  patterns: readonly string[],
  flags: RunFlags,
  limits: RunLimits,
  undo: AsyncDisposableStack,
): Promise<ExitCode> {
  if (flags.watch) throw usageFailure("--watch takes one script.");
  if (flags.ref !== undefined) throw usageFailure("--ref takes one script: a label is given to one run.");
  const { artifactsOf, findScripts, REPORTERS, runSuite, silence } = await import("./suite.ts");
  const reporters: Reporter[] = (flags.reporter ?? []).map((name) =>
    parseOneOf(name, REPORTERS, "--reporter"),
  );
  const scripts = findScripts(patterns, isPattern);
  const { artifacts, local, root, reportFile } = flags;
  const jobs = Math.min(flags.jobs ?? availableParallelism(), scripts.length);
  const silent = silence(session);
  const runScript = await openRunner(
    silent,
    scripts[0] ?? ".",
    flags,
    { scripts: scripts.length, jobs },
    undo,
  );
  return runSuite(session, { scripts, jobs, reporters, reportFile }, async (path) => {
    const { code, given, paths, refused } = await readScript(silent, path, flags);
    if (refused !== undefined) return { ...refused, paths };
    const places = local ? await findPlaces(path, root) : null;
    const ending = await runScript(code, {
      ...limits,
      ...given,
      ...(artifacts !== undefined && { artifactsFolder: artifactsOf(artifacts, path) }),
      ...(places !== null && { packages: { folder: places.folder, root: places.packagesBase } }),
    });
    return { ...ending, paths };
  });
}

interface Script {
  code: string;
  given: Pick<RunLimits, "files" | "name">;
  paths: string[];
  /** Outcome, if an error in the script or an imported file prevents it from running. */
  refused?: RunEnding;
}

/** File imports start with `./`, `../` or `/`. */
const MAY_IMPORT = [/\b(?:import|export)\b/, /["'`][./]/];

async function readScript(session: Session, path: string, { dir, root, local }: RunFlags): Promise<Script> {
  const code = await readText(path, session, MAX_SCRIPT_BYTES);
  const folder = dir === undefined ? undefined : await readFolder(dir, local === true);
  if (!MAY_IMPORT.every((hint) => hint.test(code)))
    return { code, given: folder ? { files: folder } : {}, paths: [] };
  const { readImports } = await import("./imports.ts");
  const { name, files, paths, error } = await readImports(code, path, root, folder ?? {});
  const given = { files: { ...files, ...folder }, ...(name !== undefined && { name }) };
  if (error === undefined) return { code, given, paths };
  const { message } = error;
  const refused = { ...emptyReport(null), exitState: "failed", reason: "syntax_error", error: message };
  const report = { ...refused, errorDetail: { stack: null, ...error } };
  return { code, given, paths, refused: { report, failure: null } };
}

async function openRunner(
  session: Session,
  path: string,
  flags: RunFlags,
  amount: Pick<LocalRunOptions, "scripts" | "jobs">,
  undo: AsyncDisposableStack,
): Promise<RunScript> {
  const required = flags.require ?? [];
  checkNames(required);
  if (!flags.local) return openRemoteRun(session, required);
  const { openLocalRun } = await import("./local.ts");
  const { isolation = "strict", tools = null, yes = false } = flags;
  const { folder, packagesBase } = await findPlaces(path, flags.root);
  const local = await openLocalRun(session, {
    required,
    isolation,
    toolsFile: tools,
    memoryMb: flags.memory,
    ...amount,
    yes,
    packages: { folder, root: packagesBase },
  });
  return undo.use(local).run;
}

function checkFlags(path: string, { local, watch, tools, isolation, yes, input }: RunFlags): void {
  if (path === "-" && input === "-") {
    throw usageFailure("The script and --input cannot both be read from standard input. Give one as a file.");
  }
  if (watch && path === "-") throw usageFailure("--watch needs a file: standard input does not change.");
  if (local) return;
  const given = [tools && "--tools", isolation && "--isolation", yes && "--yes"].find(Boolean);
  if (given) throw usageFailure(`${given} needs --local: servers have their own setting.`);
}

function readLimits({ timeout, memory, cpu, ref }: RunFlags): RunLimits {
  if (cpu === Number.POSITIVE_INFINITY) throw usageFailure("--cpu needs a time such as 500ms or 10s.");
  return {
    ...(timeout !== undefined && { timeoutMs: timeout === Number.POSITIVE_INFINITY ? null : timeout }),
    ...(memory !== undefined && { memoryMb: memory }),
    ...(cpu !== undefined && { cpuMs: cpu }),
    ...(ref !== undefined && { ref }),
  };
}

/** Editors save in several steps, in place or by renaming another file. */
const SETTLE_MS = 100;

/**
 * Records changes from now on. `next` resolves with true after the first change, or with false once the signal
 * aborts.
 */
function watchFiles(paths: readonly string[]): Disposable & { next(signal: AbortSignal): Promise<boolean> } {
  const changed = Promise.withResolvers<boolean>();
  const folders = Map.groupBy(paths, (path) => dirname(resolve(path)));
  const watchers = [...folders].map(([folder, inside]) => {
    const names = inside.map((path) => basename(path));
    return watch(folder, (_event, name) => {
      if (name === null || names.includes(name)) changed.resolve(true);
    }).on("error", changed.reject);
  });
  changed.promise.catch(() => {});
  return {
    async next(signal) {
      const stop = () => changed.resolve(false);
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted || !(await changed.promise)) return false;
      await new Promise((settle) => setTimeout(settle, SETTLE_MS));
      return !signal.aborted;
    },
    [Symbol.dispose]() {
      for (const watcher of watchers) watcher.close();
    },
  };
}
