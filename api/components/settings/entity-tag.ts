/** Optimistic concurrency over HTTP (RFC 9110, 13.1.1): versions are entity tags, compared with `If-Match`. */
import { AppError } from "#api/errors.ts";

export function formatEntityTag(version: number): string {
  return `"${version}"`;
}

const LIST = /^\s*(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*\s*$/;

/**
 * Accepts a missing header, `*`, or a list that contains the version. Throws AppError `precondition_failed` for
 * another version, `invalid_request` if the header is not a list of entity tags. Weak tags never match.
 */
export function requireMatch(header: string | undefined, version: number, noun = "configuration"): void {
  if (header === undefined || header.trim() === "*") return;
  if (header.length > 1000 || !LIST.test(header)) {
    throw new AppError(
      "invalid_request",
      "If-Match is not a list of entity tags. Send the ETag of the last response unchanged.",
      {
        issues: [{ path: "headers.if-match", message: 'expected an ETag such as "3", or *' }],
      },
    );
  }
  const tags = header.split(",").map((tag) => tag.trim());
  if (!tags.includes(formatEntityTag(version))) throw changedMeanwhile(version, noun);
}

export function changedMeanwhile(version: number, noun = "configuration"): AppError {
  return new AppError(
    "precondition_failed",
    `The ${noun} has changed since it was read (now ${formatEntityTag(version)}). Read it again and repeat the change.`,
  );
}
