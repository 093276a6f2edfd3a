/** A script on a server: submitted, followed to its end, killed where this program is stopped. */
import { CyrnelError, unwrap } from "#client/errors.ts";
import type { ProcessEvent } from "#client/events.ts";
import { visibleLine } from "#client/visible-text.ts";
import type { Session } from "../session.ts";
import { openRunOutput, type RunLimits, type RunReport, type RunScript } from "./report.ts";
import { requireIsolation } from "./requirements.ts";

/** Reads the server's isolation report first where something is required of it. */
export async function openRemoteRun(session: Session, required: readonly string[]): Promise<RunScript> {
  if (required.length > 0) {
    const { isolation } = unwrap(await session.client.GET("/environment"));
    requireIsolation(required, isolation);
  }
  return (code, limits) => runOnServer(session, code, limits);
}

async function runOnServer(session: Session, code: string, limits: RunLimits): Promise<RunReport> {
  const { client, json, stderr, signal } = session;
  const output = openRunOutput(session);
  let id: number | null = null;
  const announced = new Set<string>();
  const onEvent = ({ event, data }: ProcessEvent) => {
    if (event === "stdout") output.stdout(data.text);
    else if (event === "stderr") output.stderr(data.text);
    else if (event === "approval" && data.state === "pending" && !json && !announced.has(data.id)) {
      announced.add(data.id);
      output.end();
      stderr.write(`A person has to decide: cyrnel approvals approve ${visibleLine(data.id)}\n`);
    }
  };
  try {
    const record = await client.run(code, { ...limits, signal, onEvent });
    id = record.id;
    const { exitState, reason, result, error, errorDetail, stdout, stderr: errors, usage } = record;
    return {
      id,
      exitState,
      reason,
      result: result ?? null,
      error,
      errorDetail: errorDetail ?? null,
      stdout,
      stderr: errors,
      output: record.output as Record<string, unknown>,
      usage: usage as unknown as Record<string, number>,
    };
  } catch (error) {
    if (signal.aborted && !(error instanceof CyrnelError)) return killedReport(id);
    throw error;
  } finally {
    output.end();
  }
}

/** Of a run that ended because this program was stopped. */
export function killedReport(id: number | null): RunReport {
  return {
    id,
    exitState: "canceled",
    reason: "killed",
    result: null,
    error: "The run was killed.",
    errorDetail: null,
    stdout: "",
    stderr: "",
    output: {},
    usage: null,
  };
}
