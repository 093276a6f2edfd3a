/** What went wrong, in the server's words, with what a person can do about it. */

import { CyrnelError } from "#client/errors.ts";
import { formatMs } from "./format.ts";
import { CircleAlert } from "./icons.tsx";

export function describeFailure(error: unknown): string {
  if (error instanceof CyrnelError) return error.message + describeWait(error);
  if (error instanceof TypeError) return "The server cannot be reached at the moment.";
  return error instanceof Error ? error.message : String(error);
}

function describeWait({ status, retryAfterMs }: CyrnelError): string {
  return status === 429 && retryAfterMs !== null
    ? ` Try again in ${formatMs(Math.max(1000, retryAfterMs))}.`
    : "";
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === null || error === undefined) return null;
  const issues = error instanceof CyrnelError ? error.issues : [];
  return (
    <div class="notice bad" role="alert">
      <CircleAlert />
      <div class="stack tight">
        <p>{describeFailure(error)}</p>
        {issues.length > 1 || (issues.length === 1 && issues[0]?.path !== "body") ? (
          <ul class="details small">
            {issues.map((issue) => (
              <li key={issue.path + issue.message}>
                <code>{issue.path}</code> {issue.message}
              </li>
            ))}
          </ul>
        ) : null}
        {error instanceof CyrnelError ? (
          <p class="details small">
            <code>{error.code}</code>
            {error.requestId === null ? null : (
              <>
                {" "}
                · request <code>{error.requestId}</code>
              </>
            )}
          </p>
        ) : null}
        {retry === undefined ? null : (
          <div>
            <button type="button" class="button small" onClick={retry}>
              Try again
            </button>
          </div>
        )}
      </div>
    </div>
  );
}
