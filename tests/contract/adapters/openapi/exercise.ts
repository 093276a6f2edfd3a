/** One document through the adapter: imported, every schema compiled, every tool called against a validating server. */
import { instantiate } from "#modules/openapi/index.ts";
import type { AdapterModule, ServiceDefinition, ToolDefinition } from "#sdk";
import { compile, excludeEachOther, makeSample } from "./samples.ts";
import { startValidatingServer, type Verdict } from "./validating/validating-server.ts";

export interface Exercise {
  /** Operations that the server's own parser found. */
  operations: number;
  imported: number;
  /** Input and output schemas that compile. */
  schemas: number;
  called: number;
  accepted: number;
  importMs: number;
  definitionBytes: number;
  /** `tool: why`, of every tool that was not called or not accepted. */
  exceptions: string[];
}

export interface ExerciseOptions {
  adapter: AdapterModule;
  /** Call every n-th tool only. */
  every?: number;
}

export async function startAdapter(): Promise<AdapterModule & AsyncDisposable> {
  const adapter = instantiate();
  const ignore = () => undefined;
  await adapter.setup({
    config: {},
    secrets: {},
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    fetch: globalThis.fetch,
  });
  return Object.assign(adapter, { [Symbol.asyncDispose]: () => adapter.teardown() });
}

export async function exercise(text: string, options: ExerciseOptions): Promise<Exercise> {
  const { adapter } = options;
  const startedAt = performance.now();
  const definition = await adapter.generateDefinition(text);
  const importMs = performance.now() - startedAt;
  await using server = await startValidatingServer(text);
  await hydrate(adapter, definition, server.url);
  const result: Exercise = {
    operations: server.operations,
    imported: definition.tools.length,
    schemas: 0,
    called: 0,
    accepted: 0,
    importMs,
    definitionBytes: JSON.stringify(definition).length,
    exceptions: [],
  };
  for (const [index, tool] of definition.tools.entries()) {
    if (index % (options.every ?? 1) === 0) await exerciseTool(adapter, tool, result);
  }
  return result;
}

/** All secrets that the document asks for are set. */
async function hydrate(
  adapter: AdapterModule,
  definition: ServiceDefinition,
  serverUrl: string,
): Promise<void> {
  const schemes = Object.entries(
    (definition.secretsSchema.properties ?? {}) as Record<string, { type: string }>,
  );
  const secrets = schemes.map(([name, { type }]) => [
    name,
    type === "string"
      ? "secret-value"
      : { username: "user", password: "password", accessToken: "secret-token" },
  ]);
  await adapter.hydrateService({
    id: "real",
    adapterDomain: JSON.parse(JSON.stringify(definition.adapterDomain)),
    tools: Object.fromEntries(definition.tools.map(({ id, adapterDomain }) => [id, { adapterDomain }])),
    config: { serverUrl },
    secrets: Object.fromEntries(secrets),
  });
}

async function exerciseTool(adapter: AdapterModule, tool: ToolDefinition, result: Exercise): Promise<void> {
  const note = (why: string) => result.exceptions.push(`${tool.id}: ${why}`);
  try {
    compile(tool.outputSchema);
    const validate = compile(tool.inputSchema);
    result.schemas += 1;
    const { parameters, misfit } = await makeSample(tool, validate);
    if (misfit !== null) {
      note(`not called: the generator made no values that fit (${misfit})`);
      return;
    }
    result.called += 1;
    let violations = await call(adapter, tool, parameters);
    if (violations.some((violation) => violation.includes("exactly one schema in oneOf"))) {
      // An input schema leaves it to the server whether several alternatives may fit. This server takes one that fits alone.
      const schema = excludeEachOther(tool.inputSchema);
      const strict = await makeSample({ ...tool, inputSchema: schema }, compile(schema));
      if (strict.misfit === null && validate(strict.parameters)) {
        violations = await call(adapter, tool, strict.parameters);
      }
    }
    if (violations.length === 0) result.accepted += 1;
    else note(`refused: ${violations.slice(0, 2).join("; ")}`);
  } catch (error) {
    note(`failed: ${(error as Error).message}`);
  }
}

async function call(
  adapter: AdapterModule,
  tool: ToolDefinition,
  parameters: Record<string, unknown>,
): Promise<string[]> {
  const answer = (await adapter.invoke({ serviceId: "real", toolId: tool.id, parameters })) as {
    body: Verdict | null;
  };
  return answer.body?.violations ?? [];
}
