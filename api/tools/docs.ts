/** The documentation of one tool, written by the active environment: foreign text, bounded in time and size. */

import type { ToolDocsInput } from "#sdk";
import { waitAtMost } from "../bounds/deadline.ts";
import { readFailure } from "../bounds/failure-text.ts";
import type { Environments } from "../components/modules/environments.ts";
import { AppError } from "../errors.ts";

const MAX_DOCS_MS = 15_000;
const MAX_DOCS_CHARACTERS = 1024 * 1024;

/** Markdown. Throws AppError `no_environment`, or `module_failed` with the module's message. */
export async function writeToolDocs(
  environments: Pick<Environments, "acquire">,
  input: ToolDocsInput,
): Promise<string> {
  using lease = environments.acquire();
  if (lease === null) {
    throw new AppError(
      "no_environment",
      "No environment is active, and it is the environment that documents tools. Enable one: POST /modules/:id/enabled.",
    );
  }
  try {
    const written = Promise.resolve().then(() => lease.module.generateToolDocs(input));
    const docs: unknown = await waitAtMost(written, MAX_DOCS_MS, `generateToolDocs() of ${lease.id}`);
    if (typeof docs !== "string") throw new Error("generateToolDocs() did not answer a text.");
    return docs.slice(0, MAX_DOCS_CHARACTERS);
  } catch (error) {
    throw new AppError(
      "module_failed",
      `The documentation of ${input.serviceId}.${input.toolId} could not be made by ${lease.id}: ${readFailure(error)}`,
      { cause: error },
    );
  }
}
