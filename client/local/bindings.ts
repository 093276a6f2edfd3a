/** What a local runtime does for its environment: reports land on the run they name, calls go to the given tools. */
import { generateToolDocs } from "#runner/docs/tool-docs.ts";
import type { EnvironmentBindings, InvokeInput } from "#sdk";
import type { Catalog } from "./catalog.ts";
import type { LocalExecution } from "./execution.ts";
import type { compileSchema, SchemaCheck } from "./schema-check.ts";

export interface BindingsOptions {
  catalog: Catalog;
  /** Null where no tool has an inputSchema: the library behind it is most of what there would be to load. */
  compileSchema: typeof compileSchema | null;
  /** Undefined for a run that is over. */
  find(eid: number): LocalExecution | undefined;
}

export function createBindings({ catalog, compileSchema, find }: BindingsOptions): EnvironmentBindings {
  const inputChecks = new Map<string, SchemaCheck>();

  /** @throws an error with code `invalid_parameters`. */
  function checkParameters(
    path: string,
    schema: Record<string, unknown> | undefined,
    parameters: unknown,
  ): void {
    if (schema === undefined || compileSchema === null) return;
    const check = inputChecks.get(path) ?? compileSchema(schema, "parameters");
    inputChecks.set(path, check);
    const problem = check(parameters);
    if (problem !== null) throw refuse("invalid_parameters", `${path}: ${problem}.`, 400);
  }

  async function invokeTool({
    serviceId,
    toolId,
    parameters,
    eid,
    seq,
    signal,
  }: InvokeInput): Promise<unknown> {
    const run = findRun(eid);
    const over = signal ?? AbortSignal.abort();
    run.noteCall({ path: `${serviceId}.${toolId}`, args: parameters });
    const tool = catalog.find(serviceId, toolId);
    checkParameters(tool.path, tool.inputSchema, parameters);
    // Without a wait the call begins at once: the message after it may be the end of the run.
    const waiting = run.pauses?.pass(tool, parameters, over) ?? null;
    if (waiting !== null) {
      await waiting;
      // It may have been approved as the run ended.
      over.throwIfAborted();
    }
    return tool.invoke(parameters, { processId: run.id, seq: seq ?? 0, signal: over });
  }

  function findRun(eid: number | undefined): LocalExecution {
    const run = eid === undefined ? undefined : find(eid);
    if (run === undefined) throw refuse("run_ended", "The run of this call has ended.", 409);
    return run;
  }

  return {
    invokeTool,
    setState() {},
    // The bundled environment answers with whole outcomes.
    setError() {},
    emitStdout: (eid, data) => find(eid)?.write("stdout", data),
    emitStderr: (eid, data) => find(eid)?.write("stderr", data),
    emitOutput: (eid, data) => find(eid)?.options.onOutput?.(data),
    setResult() {},
    setUsage() {},
    discoverServices: (query) => catalog.discoverServices(query ?? {}),
    discoverTools: (query) => catalog.discoverTools(query ?? {}),
    getService: (id) => catalog.getService(id),
    getTool: ({ serviceId, toolId }) => catalog.getTool(serviceId, toolId),
    async getToolDocs({ serviceId, toolId }) {
      const { description, inputSchema, outputSchema } = await catalog.getTool(serviceId, toolId);
      return generateToolDocs({ serviceId, toolId, description, inputSchema, outputSchema });
    },
    async ask(eid, { message, schema }, call) {
      const run = findRun(eid);
      const check = schema === undefined ? undefined : await compileQuestion(schema);
      const requireFit = (data: unknown) => {
        const problem = check?.(data ?? null) ?? null;
        if (problem !== null) throw new TypeError(`The answer does not fit the question: ${problem}.`);
      };
      const request = { message, ...(schema !== undefined && { schema }) };
      return run.pauses?.ask(request, requireFit, call?.signal ?? AbortSignal.abort());
    },
  };
}

async function compileQuestion(schema: Record<string, unknown>): Promise<SchemaCheck> {
  const { compileQuestionSchema } = await import("./schema-check.ts");
  return compileQuestionSchema(schema);
}

function refuse(code: string, message: string, status: number): Error {
  return Object.assign(new Error(message), { name: "ToolError", code, status });
}
