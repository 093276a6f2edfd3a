/**
 * The local runtime's bundled environment: output goes to its run, calls go to the given tools. Loaded at the first
 * run, because it is most of the code.
 */

import { generateToolDocs } from "#kernel/tool-docs/tool-docs.ts";
import { createProcessEnvironment } from "#modules/typescript-process/environment.ts";
import type { BundledEnvironment } from "#runner/host/environment.ts";
import {
  type EnvironmentBindings,
  type JSONSchema,
  type ToolRequest,
  withBigInts,
  withDigits,
  withRawIntegers,
} from "#sdk";
import type { LocalOptions, LocalTool } from "../kernel/local-model.ts";
import { toolError } from "../kernel/proxy.ts";
import type { Catalog } from "./catalog.ts";
import { answerFetch, FETCH_PATH } from "./fetch.ts";
import { saveResult } from "./files.ts";
import type { createLocalPackages } from "./packages.ts";
import type { LocalRun } from "./run.ts";
import { toJsonData } from "./values.ts";

/** Returns undefined for a run that has ended. */
type FindRun = (eid: number) => LocalRun | undefined;

type Checker = typeof import("#kernel/parameter-check.ts");

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
/** One child is started in advance, more when they are needed. */
const WARM_POOL = { min: 0, max: 2 };
/** Preparing a process to fork children from costs as much as booting a few. */
const MIN_FORKED_RUNS = 8;
const MAX_QUESTION_SCHEMA_CHARACTERS = 20_000;
/** References multiply the compilation work; `$async` would make validation return a promise. */
const FORBIDDEN_IN_QUESTIONS = /"\$(?:ref|dynamicRef|recursiveRef|async)"\s*:/;

/** @throws Error if the requested isolation is not available */
export async function openEnvironment(
  options: LocalOptions,
  catalog: Catalog,
  find: FindRun,
): Promise<BundledEnvironment> {
  // A program that runs one script must not start three children for the self-test first.
  const environment = createProcessEnvironment(undefined, { test: "in each child" });
  await environment.setup({
    config: { warmPool: WARM_POOL, ...options.environment },
    secrets: {},
    logger: SILENT,
    fetch: async () => {
      throw new Error("The environment of a local runtime makes no requests.");
    },
    bindings: {
      ...createBindings(catalog, find, catalog.hasSchemas ? await loadChecker() : null),
      ...(options.packages && createPackageBindings(options.packages, find)),
    },
    ...(options.isolation !== undefined && { isolation: options.isolation }),
    zygote: (options.expectedRuns ?? 1) >= MIN_FORKED_RUNS,
  });
  return environment;
}

/** Loaded with the first package import: few scripts have one. */
function createPackageBindings(
  usual: NonNullable<LocalOptions["packages"]>,
  find: FindRun,
): Pick<EnvironmentBindings, "findPackage" | "readPackage"> {
  const opened = new Map<string, ReturnType<typeof createLocalPackages>>();
  async function open(eid: number): Promise<ReturnType<typeof createLocalPackages>> {
    const { createLocalPackages } = await import("./packages.ts");
    const places = find(eid)?.options.packages ?? usual;
    const key = JSON.stringify([places.folder, places.root]);
    const packages = opened.get(key) ?? createLocalPackages(places);
    opened.set(key, packages);
    return packages;
  }
  return {
    findPackage: async (eid, request) => (await open(eid)).findPackage(eid, request),
    readPackage: async (eid, digest) => (await open(eid)).readPackage(eid, digest),
  };
}

const loadChecker = (): Promise<Checker> => import("#kernel/parameter-check.ts");

/** `checker` is null if no tool has an inputSchema, so that its libraries are not loaded needlessly. */
function createBindings(catalog: Catalog, find: FindRun, checker: Checker | null): EnvironmentBindings {
  const checks = new Map<string, ReturnType<Checker["compileCheck"]>>();

  function fitParameters({ path, inputSchema }: LocalTool, given: unknown): unknown {
    if (inputSchema === undefined || checker === null) return given;
    const check = checks.get(path) ?? checker.compileCheck(inputSchema);
    checks.set(path, check);
    // Validation fills in defaults, but the run's result lists the call as the script made it.
    const parameters = structuredClone(given) as Record<string, unknown>;
    if (check.fits(parameters)) return parameters;
    throw toolError("invalid_parameters", checker.describeMismatch(path, check.listIssues()), 400);
  }

  // Synchronous up to the tool call: the child's next message may be the end of the run.
  async function invokeTool(request: ToolRequest) {
    const { serviceId, toolId, parameters, saveAs, eid, seq, signal } = request;
    const run = findRun(eid);
    const over = signal ?? AbortSignal.abort();
    if (saveAs !== undefined) run.workspace.checkName(saveAs);
    const files = run.workspace.snapshot();
    const isFetch = serviceId === FETCH_PATH && toolId === "";
    run.recordCall({ path: isFetch ? FETCH_PATH : `${serviceId}.${toolId}`, args: withDigits(parameters) });
    signal?.throwIfAborted();
    const tool = isFetch ? catalog.findFetch() : catalog.find(serviceId, toolId);
    const fitting = fitParameters(tool, withBigInts(parameters));
    const waiting = run.pauses?.pass(tool, withRawIntegers(fitting), over) ?? null;
    if (waiting !== null) {
      await waiting;
      // The call may have been approved as the run ended.
      over.throwIfAborted();
    }
    const call = () => tool.invoke(fitting, { processId: run.id, seq: seq ?? 0, signal: over, files });
    const made = request.throwOnError === false ? orAnswer(call) : call();
    if (isFetch && saveAs !== undefined) return answerFetch(run.workspace, request, await made);
    return saveAs === undefined
      ? toJsonData(tool.path, await made, run.warn)
      : saveResult(run.workspace, saveAs, await made);
  }

  async function orAnswer(call: () => unknown): Promise<unknown> {
    try {
      return await call();
    } catch (error) {
      const { answer } = Object(error) as { answer?: unknown };
      if (typeof answer === "object" && answer !== null) return answer;
      throw error;
    }
  }

  function findRun(eid: number | undefined): LocalRun {
    const run = eid === undefined ? undefined : find(eid);
    if (run === undefined) throw toolError("run_ended", "The run of this call has ended.", 409);
    return run;
  }

  return {
    invokeTool,
    // The bundled environment returns complete outcomes.
    setState() {},
    setError() {},
    setResult() {},
    setUsage() {},
    emitStdout: (eid, data, level) => find(eid)?.write("stdout", data, level),
    emitStderr: (eid, data, level) => find(eid)?.write("stderr", data, level),
    emitOutput: (eid, data) => find(eid)?.options.onOutput?.(data),
    readFile: async (eid, { name, offset, length }) => findRun(eid).workspace.read(name, offset, length),
    writeFile: async (eid, write) => findRun(eid).workspace.write(write),
    removeFile: async (eid, { name }) => findRun(eid).workspace.remove(name),
    copyFile: async (eid, copy) => findRun(eid).workspace.copy(copy),
    resizeFile: async (eid, file) => findRun(eid).workspace.resize(file),
    discoverServices: (query) => catalog.discoverServices(query ?? {}),
    discoverTools: (query) => catalog.discoverTools(query ?? {}),
    getService: (id) => catalog.getService(id),
    getTool: ({ serviceId, toolId }) => catalog.getTool(serviceId, toolId),
    async getToolDocs({ serviceId, toolId }) {
      return generateToolDocs({ ...(await catalog.getTool(serviceId, toolId)), serviceId, toolId });
    },
    async ask(eid, { message, schema }, call) {
      const { pauses } = findRun(eid);
      if (pauses === null) {
        throw toolError(
          "ask_unavailable",
          "No person can be asked: this runtime has no elicitation engine.",
          403,
        );
      }
      const check = schema === undefined ? undefined : await compileQuestion(schema);
      const request = { message, ...(schema !== undefined && { schema }) };
      return pauses.ask(request, check, call?.signal ?? AbortSignal.abort());
    },
  };
}

/**
 * Compiles a validator that throws for invalid responses. The schema comes from a script: because it is bounded and
 * has no references, compiling it takes time proportional to its size.
 */
async function compileQuestion(schema: JSONSchema): Promise<(data: unknown) => void> {
  const text = JSON.stringify(schema);
  if (text.length > MAX_QUESTION_SCHEMA_CHARACTERS) {
    throw new TypeError(
      `The schema of a question may have ${MAX_QUESTION_SCHEMA_CHARACTERS} characters of JSON.`,
    );
  }
  if (FORBIDDEN_IN_QUESTIONS.test(text)) {
    throw new TypeError("A question's schema must not contain $ref or $async.");
  }
  const check = (await loadChecker()).compileCheck(schema, "answer");
  return (data) => {
    if (check.fits((data ?? null) as Record<string, unknown>)) return;
    const listed = check
      .listIssues()
      .map(({ path, message }) => `${path.replace(/^parameters/, "answer")} ${message}`);
    throw new TypeError(`The answer does not fit the question: ${listed.join("; ")}.`);
  };
}
