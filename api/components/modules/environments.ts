/** What the rest of the server sees of the environments: the active one, leased per run, and its documentation. */
import { waitAtMost } from "#api/bounds/deadline.ts";
import { readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import type { EnvironmentModule, EnvironmentStatus } from "#sdk";

/** One run's hold on an environment: a replaced environment is torn down when its last lease is disposed. */
export interface EnvironmentLease extends Disposable {
  readonly id: string;
  readonly module: EnvironmentModule;
}

export interface ActiveEnvironment {
  readonly id: string;
  readonly module: EnvironmentModule;
  /** Null for a module that does not report a status. */
  status(): EnvironmentStatus | null;
}

export interface Environments {
  active(): ActiveEnvironment | null;
  /** Leases the active environment for one run; null while none is active. */
  acquire(): EnvironmentLease | null;
  /** While none is active: which layer of its isolation the one that was to run scripts lacks, and what to do; null: another reason. */
  refusal(): string | null;
  /** Called after the active environment has changed (also to none). Returns the function that stops listening. */
  onChange(listener: () => void): () => void;
}

const MAX_DOCS_MS = 15_000;
const MAX_DOCS_CHARACTERS = 1024 * 1024;

/** Markdown. Throws AppError `no_environment`, or `module_failed` with the module's message. */
export async function readEnvironmentDocs(environments: Environments): Promise<string> {
  using lease = environments.acquire();
  if (lease === null) throw noEnvironment(environments);
  try {
    const written = Promise.resolve().then(() => lease.module.generateDocs());
    const docs: unknown = await waitAtMost(written, MAX_DOCS_MS, `generateDocs() of ${lease.id}`);
    if (typeof docs !== "string") throw new Error("generateDocs() did not answer a text.");
    return docs.length > MAX_DOCS_CHARACTERS ? docs.slice(0, MAX_DOCS_CHARACTERS) : docs;
  } catch (error) {
    throw new AppError(
      "module_failed",
      `The documentation of ${lease.id} could not be made: ${readFailure(error)}`,
      {
        cause: error,
      },
    );
  }
}

export function noEnvironment(environments: Pick<Environments, "refusal">): AppError {
  const refusal = environments.refusal();
  return new AppError(
    "no_environment",
    `No environment is active: no script can run. ${refusal === null ? "" : `${refusal} `}See "error" in GET /modules?type=environment, or enable one with POST /modules/:id/enabled.`,
  );
}
