/** Reads the active environment's documentation: foreign text, bounded in time and size. */

import { waitAtMost } from "#api/bounds/deadline.ts";
import { readFailure } from "#api/bounds/failure-text.ts";
import { AppError } from "#api/errors.ts";
import type { Environments } from "./environments.ts";

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
