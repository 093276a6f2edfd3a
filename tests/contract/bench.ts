/**
 * An environment under test: set up through the module contract alone, with bindings that record everything and a
 * service `test` whose tools echo, delay, fail and hang.
 */

import { saveResult } from "#client/local/files.ts";
import { contentTypeOf } from "#kernel/file-names.ts";
import { type StoredFile, Workspace } from "#runner/workspace/workspace.ts";
import type {
  CallFiles,
  EnvironmentModule,
  ErrorDetail,
  ExecutionExitState,
  ExecutionInput,
  ExecutionOptions,
  InvokeInput,
  RunWarning,
  Usage,
} from "#sdk";
import { inParts } from "#tests/contract/in-parts.ts";
import type { PackageBindings } from "#tests/contract/packages.ts";
import { openWeb, type Web } from "#tests/contract/web.ts";

/** One execution as the bindings saw it. */
export interface Run {
  state: ExecutionExitState;
  error: ErrorDetail | undefined;
  stdout: string;
  stderr: string;
  output: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of a script, looked into by the cases.
  result: any;
  hasResult: boolean;
  states: string[];
  usage: Partial<Usage>;
  warnings: readonly RunWarning[];
  calls: InvokeInput[];
  /** Most tool calls in flight at once. */
  maxInFlight: number;
  /** Calls of the tool `hang` whose signal has aborted. */
  aborted: number;
  wallMs: number;
  /** Files written by the run, by name. */
  artifacts: Record<string, Buffer>;
}

export interface Started {
  eid: number;
  done: Promise<Run>;
  kill(): Promise<void>;
  /** Resolves when stdout holds the text. */
  printed(text: string): Promise<void>;
}

type RunOptions = Partial<ExecutionOptions> &
  Pick<ExecutionInput, "ref" | "input"> & {
    /** Contents of the workspace. */
    files?: Record<string, string | Uint8Array>;
    maxWorkspaceBytes?: number;
  };

export interface Bench {
  readonly module: EnvironmentModule;
  readonly seesOneRejection: boolean;
  run(code: string, options?: RunOptions): Promise<Run>;
  start(code: string, options?: RunOptions): Started;
  /** Another environment of the same kind with these settings on top, torn down afterwards. */
  withConfig<T>(config: Record<string, unknown>, use: (bench: Bench) => Promise<T>): Promise<T>;
}

/** One promised behaviour. `id` is stable and unique; the sentence completes "A script …" or states a fact. */
export interface EnvironmentCase {
  id: string;
  sentence: string;
  check(bench: Bench): Promise<void>;
}

/** How the environment under test is made and configured. */
export interface EnvironmentUnderTest {
  instantiate(): EnvironmentModule;
  config: Record<string, unknown>;
  /** False: every run gets a process that was booted for it. Absent: as CYRNEL_ZYGOTE of the tests says. */
  zygote?: boolean;
  /** Of the rejections of one step it sees the first, and says so when that is handled later. */
  seesOneRejection?: true;
  /** Absent: runs have no packages. */
  packages?: PackageBindings;
  /** Carries out what a script fetches. Absent: as a web server of this machine answers. */
  request?: Web["request"];
}
/** All that goes through here may be run in both ways. */
const ZYGOTE = process.env.CYRNEL_ZYGOTE !== "off";

const DEFAULT_TIMEOUT_MS = 20_000;
const logger = { debug() {}, info() {}, warn() {}, error() {} };
let lastEid = 0;

interface Recording extends Run {
  workspace: Workspace;
  inFlight: number;
  onPrint: () => void;
}

/** Sets the environment up; the caller disposes it. */
export async function openBench(subject: EnvironmentUnderTest): Promise<Bench & AsyncDisposable> {
  const recordings = new Map<number, Recording>();
  const web = await openWeb(subject.request);
  const module = inParts(subject.instantiate(), (eid, warnings) => {
    of(eid).warnings = warnings;
  });
  const of = (eid: number | undefined): Recording => {
    const recording = recordings.get(eid ?? 0);
    if (recording === undefined) throw new Error(`A binding was called for the unknown execution ${eid}.`);
    return recording;
  };
  await module.setup({
    config: subject.config,
    zygote: subject.zygote ?? ZYGOTE,
    secrets: {},
    fetch: globalThis.fetch,
    logger,
    bindings: {
      async invokeTool(input) {
        const recording = of(input.eid);
        recording.calls.push(input);
        recording.inFlight++;
        recording.maxInFlight = Math.max(recording.maxInFlight, recording.inFlight);
        try {
          const { serviceId, toolId, parameters, signal } = input;
          signal?.throwIfAborted();
          if (serviceId === "fetch" && toolId === "") {
            const { files } = input as { files?: CallFiles };
            if (files !== undefined) return await web.request(parameters, files, signal);
            return await web.fetch(parameters, recording.workspace, input.saveAs ?? "", signal);
          }
          const answer = await invokeTestTool(input, () => recording.aborted++);
          const { saveAs } = input;
          return saveAs === undefined ? answer : await saveResult(recording.workspace, saveAs, answer);
        } finally {
          recording.inFlight--;
        }
      },
      setState: (eid, state) => void of(eid).states.push(state),
      setError: (eid, error) => {
        of(eid).error = typeof error === "string" ? { name: "Error", message: error } : error;
      },
      emitStdout: (eid, data) => {
        of(eid).stdout += data.toString();
        of(eid).onPrint();
      },
      emitStderr: (eid, data) => {
        of(eid).stderr += data.toString();
      },
      emitOutput(eid, data) {
        const recording = of(eid);
        recording.output = { ...recording.output, ...data };
      },
      discoverServices: async (query) => [
        { id: "test", name: JSON.stringify(query ?? null), description: "" },
      ],
      discoverTools: async (query) => [
        { serviceId: "test", id: "echo", name: JSON.stringify(query ?? null), description: "", score: 1 },
      ],
      getService: async (id) => {
        if (id !== "test")
          throw Object.assign(new Error(`Unknown service ${id}.`), { code: "not_found", status: 404 });
        return { id, name: "Test", description: "", tools: [] };
      },
      getTool: async ({ serviceId, toolId }) => ({
        serviceId,
        id: toolId,
        name: "Echo",
        description: "",
        inputSchema: { type: "object" },
        outputSchema: {},
      }),
      getToolDocs: async ({ serviceId, toolId }) => `# ${serviceId}.${toolId}`,
      ask: async (eid, request) => ({ eid: of(eid).state === undefined, request }),
      setResult: (eid, value) => {
        of(eid).result = value;
        of(eid).hasResult = true;
      },
      setUsage: (eid, usage) => void Object.assign(of(eid).usage, usage),
      readFile: (eid, { name, offset, length }) => of(eid).workspace.read(name, offset, length),
      writeFile: (eid, write) => of(eid).workspace.write(write),
      removeFile: (eid, { name }) => of(eid).workspace.remove(name),
      copyFile: (eid, copy) => of(eid).workspace.copy(copy),
      resizeFile: (eid, file) => of(eid).workspace.resize(file),
      ...subject.packages,
    },
  });

  function start(code: string, options: RunOptions = {}): Started {
    const eid = ++lastEid;
    const files = Object.entries(options.files ?? {}).map(([name, content]) => toStoredFile(name, content));
    const workspace = new Workspace({
      files,
      maxBytes: options.maxWorkspaceBytes ?? MAX_WORKSPACE_BYTES,
      maxFiles: 1000,
    });
    const recording: Recording = { ...createRecording(), workspace };
    recordings.set(eid, recording);
    const startedAt = performance.now();
    const { ref, input, files: _given, maxWorkspaceBytes: _max, ...limits } = options;
    const execution = module.execute({
      eid,
      code,
      options: { timeoutMs: DEFAULT_TIMEOUT_MS, ...limits },
      ...(ref !== undefined && { ref }),
      ...(input !== undefined && { input }),
      ...(files.length > 0 && { files: files.map(({ read: _read, ...file }) => file) }),
    });
    const done = execution.then(async (state) => {
      recording.state = state;
      recording.wallMs = performance.now() - startedAt;
      for (const { name, size, read } of workspace.artifacts()) {
        recording.artifacts[name] = Buffer.from(await read(0, size));
      }
      await workspace[Symbol.asyncDispose]();
      return recording;
    });
    const printed = (text: string) =>
      new Promise<void>((resolve) => {
        recording.onPrint = () => recording.stdout.includes(text) && resolve();
        recording.onPrint();
      });
    return { eid, done, kill: () => module.kill(eid), printed };
  }

  return {
    module,
    seesOneRejection: subject.seesOneRejection ?? false,
    start,
    run: (code, options) => start(code, options).done,
    async withConfig(config, use) {
      await using other = await openBench({ ...subject, config: { ...subject.config, ...config } });
      return await use(other);
    },
    async [Symbol.asyncDispose]() {
      await module.teardown();
      await web[Symbol.asyncDispose]();
    },
  };
}

const MAX_WORKSPACE_BYTES = 64 * 1024 * 1024;

function toStoredFile(name: string, content: string | Uint8Array): StoredFile {
  const bytes = Buffer.from(content);
  const read = async (offset: number, length: number) => bytes.subarray(offset, offset + length);
  return { name, size: bytes.length, contentType: contentTypeOf(name), read };
}

function createRecording(): Omit<Recording, "workspace"> {
  return {
    state: undefined as unknown as ExecutionExitState,
    error: undefined,
    stdout: "",
    stderr: "",
    output: {},
    result: undefined,
    hasResult: false,
    states: [],
    usage: {},
    warnings: [],
    calls: [],
    maxInFlight: 0,
    inFlight: 0,
    aborted: 0,
    wallMs: 0,
    artifacts: Object.create(null),
    onPrint: () => {},
  };
}

/** The service `test`: what each tool does with its parameters. */
async function invokeTestTool(input: InvokeInput, onAborted: () => void): Promise<unknown> {
  const { serviceId, toolId, parameters, signal } = input;
  if (serviceId !== "test") throw fault("NotFoundError", `Unknown service ${serviceId}.`, "not_found", 404);
  switch (toolId) {
    case "echo":
      return parameters;
    case "delay":
      await new Promise((resolve) => setTimeout(resolve, Number(parameters.ms)));
      return parameters.value ?? null;
    case "fail":
      throw Object.assign(new Error(String(parameters.message)), parameters);
    case "nothing":
      return undefined;
    case "hang":
      return new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => {
          onAborted();
          reject(new Error("aborted"));
        });
      });
    default:
      throw fault(
        "NotFoundError",
        `Unknown tool test.${toolId}. Did you mean test.echo, test.delay?`,
        "not_found",
        404,
      );
  }
}

function fault(name: string, message: string, code: string, status: number): Error {
  return Object.assign(new Error(message), { name, code, status });
}
