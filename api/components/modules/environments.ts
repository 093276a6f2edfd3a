import { waitAtMost } from "#api/bounds/deadline.ts";
import { readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import type { EnvironmentModule, EnvironmentStatus, ToolDocsInput } from "#sdk";

/** Keeps an environment in use. A replaced environment is torn down when its last lease is disposed. */
export interface EnvironmentLease extends Disposable {
  readonly id: string;
  readonly module: EnvironmentModule;
}

export interface ActiveEnvironment {
  readonly id: string;
  readonly module: EnvironmentModule;
  status(): EnvironmentStatus | null;
}

export interface Environments {
  active(): ActiveEnvironment | null;
  acquire(): EnvironmentLease | null;
  /**
   * Returns which isolation layer is missing and how to fix it, or null if an environment is active or is missing for
   * another reason.
   */
  refusal(): string | null;
  onChange(listener: () => void): () => void;
}

const MAX_DOCS_MS = 15_000;
const MAX_DOCS_CHARACTERS = 1024 * 1024;

export function readEnvironmentDocs(environments: Environments): Promise<string> {
  return askForDocs(environments, "generateDocs()", null, (module) => module.generateDocs());
}

export function writeToolDocs(environments: Environments, input: ToolDocsInput): Promise<string> {
  const tool = `${input.serviceId}.${input.toolId}`;
  return askForDocs(environments, "generateToolDocs()", tool, (module) => module.generateToolDocs(input));
}

/** Limits the time and size of the foreign text. A null `tool` asks for the environment's own documentation. */
async function askForDocs(
  environments: Environments,
  member: string,
  tool: string | null,
  ask: (module: EnvironmentModule) => unknown,
): Promise<string> {
  using lease = environments.acquire();
  if (lease === null) throw noEnvironment(environments);
  const { id, module } = lease;
  try {
    const written = Promise.resolve().then(() => ask(module));
    const docs: unknown = await waitAtMost(written, MAX_DOCS_MS, `${member} of ${id}`);
    if (typeof docs !== "string") throw new Error(`${member} did not return a text.`);
    return docs.slice(0, MAX_DOCS_CHARACTERS);
  } catch (error) {
    const what = tool === null ? `of ${id} could not be made` : `of ${tool} could not be made by ${id}`;
    throw new AppError("module_failed", `The documentation ${what}: ${readFailure(error)}`, { cause: error });
  }
}

export function noEnvironment(environments: Pick<Environments, "refusal">): AppError {
  const refusal = environments.refusal();
  return new AppError(
    "no_environment",
    `No environment is active: no script can run. ${refusal === null ? "" : `${refusal} `}See "error" in GET /modules?type=environment, or enable one with POST /modules/:id/enabled.`,
  );
}
