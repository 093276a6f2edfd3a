/** Runs a script on a server: submits it, follows it to its end, and kills it if this program is interrupted. */
import { CyrnelError, unwrap } from "#client/errors.ts";
import type { ProcessEvent } from "#client/events.ts";
import { visibleLine } from "#client/visible-text.ts";
import type { Session } from "../session.ts";
import {
  emptyReport,
  openRunOutput,
  type RunEnding,
  type RunLimits,
  type RunReport,
  type RunScript,
} from "./report.ts";
import { requireIsolation } from "./requirements.ts";
import { downloadArtifacts, uploadFiles } from "./transfer.ts";

/** A killed run ends at once, and then its output is stored. */
const MAX_KILLED_WAIT_MS = 10_000;

/** Reads the server's isolation report first if isolation is required. */
export async function openRemoteRun(session: Session, required: readonly string[]): Promise<RunScript> {
  if (required.length > 0) {
    const { isolation } = unwrap(await session.client.GET("/environment"));
    requireIsolation(required, isolation);
  }
  return (code, limits) => runOnServer(session, code, limits);
}

async function runOnServer(
  session: Session,
  code: string,
  { files, artifactsFolder, packages: _local, ...limits }: RunLimits,
): Promise<RunEnding> {
  const { client, json, stderr, signal } = session;
  const output = openRunOutput(session);
  let id: number | null = null;
  const onSubmit = (submitted: number) => {
    id = submitted;
  };
  const announced = new Set<string>();
  const onEvent = ({ event, data }: ProcessEvent) => {
    if (event === "stdout") output.stdout(data.text);
    else if (event === "stderr") output.stderr(data.text);
    else if (event === "approval" && data.state === "pending" && !json && !announced.has(data.id)) {
      announced.add(data.id);
      output.end();
      stderr.write(`Waiting for approval: cyrnel approvals approve ${visibleLine(data.id)}\n`);
    }
  };
  try {
    const given = files && (await session.during("Uploading files", uploadFiles(session, files)));
    const record = await client.run(code, {
      ...limits,
      ...(given !== undefined && { files: given }),
      signal,
      onEvent,
      onSubmit,
    });
    const failure =
      artifactsFolder === undefined ? null : await downloadArtifacts(session, record, artifactsFolder);
    const { exitState, reason, result, error, errorDetail, warnings, stdout, stderr: errors, usage } = record;
    const report = {
      id: record.id,
      exitState,
      reason,
      result: result ?? null,
      error,
      errorDetail: errorDetail ?? null,
      warnings,
      stdout,
      stderr: errors,
      output: record.output as Record<string, unknown>,
      usage: usage as unknown as Record<string, number>,
    };
    return { report, failure };
  } catch (error) {
    if (!signal.aborted || error instanceof CyrnelError) throw error;
    const report = killedReport(id);
    if (id !== null && artifactsFolder !== undefined) {
      const record = await client.waitForIdle(id, { signal: AbortSignal.timeout(MAX_KILLED_WAIT_MS) });
      return { report, failure: await downloadArtifacts(session, record, artifactsFolder) };
    }
    return { report, failure: null };
  } finally {
    output.end();
  }
}

/** Returns the report of a run that ended because this program was interrupted. */
export function killedReport(id: number | null): RunReport {
  return { ...emptyReport(id), exitState: "canceled", reason: "killed", error: "The run was killed." };
}
