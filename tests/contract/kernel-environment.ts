/** A local runtime behind the module contract, so that the conformance suite of environments runs through `execute`. */
import { createRuntime } from "#client/index.ts";
import type { LocalRuntime } from "#client/kernel/local-model.ts";
import { generateToolDocs } from "#kernel/tool-docs/tool-docs.ts";
import type { EnvironmentBindings, EnvironmentModule, EnvironmentStatus, ErrorDetail } from "#sdk";

/** Fields that the suite expects under other names than the runtime's. */
export function instantiateKernel(): EnvironmentModule {
  let runtime: LocalRuntime | null = null;
  let bindings: EnvironmentBindings;
  let status: EnvironmentStatus;
  let writes = 0;
  const readFile = (...args: Parameters<NonNullable<EnvironmentBindings["readFile"]>>) =>
    bindings.readFile?.(...args) ?? Promise.reject(new Error("The suite gives no files."));
  const writeFile = (...args: Parameters<NonNullable<EnvironmentBindings["writeFile"]>>) =>
    bindings.writeFile?.(...args);
  const aborters = new Map<number, AbortController>();
  const required = () => {
    if (runtime === null) throw new Error("The environment is not set up.");
    return runtime;
  };
  return {
    async setup(context) {
      bindings = context.bindings;
      runtime = createRuntime({
        local: true,
        environment: context.config,
        invoke: (path, parameters, { processId, seq, signal, files }) => {
          const [serviceId = "", ...names] = path.split(".");
          const toolId = names.join(".");
          const call = { serviceId, toolId, parameters, eid: processId, seq, signal };
          return bindings.invokeTool(path === "fetch" ? Object.assign(call, { files }) : call);
        },
        describeTools: (path) => ({ path, name: "Echo", inputSchema: { type: "object" } }),
      });
      status = { ...(await runtime.status()), isolation: await runtime.isolation() };
    },
    teardown: async () => {
      await runtime?.dispose();
    },
    async execute({ eid, code, options, ref, input, files = [] }) {
      const aborter = new AbortController();
      aborters.set(eid, aborter);
      try {
        const { timeoutMs, memoryMb, cpuMs, maxStdoutBytes, maxStderrBytes } = options ?? { timeoutMs: null };
        const result = await required().execute(code, {
          processId: eid,
          timeoutMs,
          ...(memoryMb !== undefined && { memoryMb }),
          ...(cpuMs !== undefined && { cpuMs }),
          ...(maxStdoutBytes !== undefined && { maxStdoutBytes }),
          ...(maxStderrBytes !== undefined && { maxStderrBytes }),
          ...(ref !== undefined && { ref }),
          ...(input !== undefined && { input }),
          files: Object.fromEntries(
            files.map(({ name, size, contentType }) => {
              const read = (offset: number, length: number) => readFile(eid, { name, offset, length });
              return [name, { size, contentType, read }];
            }),
          ),
          async onArtifact(name, { size, read }) {
            await writeFile(eid, {
              name,
              data: await read(0, size),
              mode: "replace",
              more: false,
              write: ++writes,
            });
          },
          signal: aborter.signal,
          onStdout: (text) => bindings.emitStdout(eid, Buffer.from(text)),
          onStderr: (text) => bindings.emitStderr(eid, Buffer.from(text)),
          onOutput: (value) => bindings.emitOutput(eid, value),
        });
        if (result.usage !== null) bindings.setUsage(eid, result.usage);
        if (result.value !== undefined) bindings.setResult(eid, result.value);
        if (result.errorDetail !== undefined) {
          const reason = result.reason as NonNullable<ErrorDetail["reason"]>;
          bindings.setError(eid, { ...result.errorDetail, reason });
        }
        return {
          exitState: result.exitState ?? "failed",
          warnings: result.warnings.filter(({ code }) => code !== "more_warnings"),
        };
      } catch (error) {
        if (!aborter.signal.aborted) throw error;
        bindings.setError(eid, { name: "KilledError", message: "The run was killed.", reason: "killed" });
        return "canceled";
      }
    },
    kill: async (eid) => aborters.get(eid)?.abort(),
    generateDocs: () => required().docs(),
    generateToolDocs,
    status: () => status,
  };
}
