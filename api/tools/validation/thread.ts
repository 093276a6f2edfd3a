/** Thread entry for parameter checks that may take long. The server ends the thread after a time limit. */
import { parentPort } from "node:worker_threads";
import {
  type CheckKind,
  compileCheck,
  type ParameterCheck,
  type ParameterIssue,
} from "#kernel/parameter-check.ts";

const MAX_CHECKS = 200;

export type CheckJob =
  | { kind: "prepare"; hash: string; schema: string; for: CheckKind }
  | { kind: "check"; hash: string; parameters: Record<string, unknown> };
export type CheckAnswer =
  | { kind: "prepared" }
  | { kind: "checked"; issues: ParameterIssue[]; parameters: Record<string, unknown> }
  /** The schema was not prepared in this thread or has been evicted. */
  | { kind: "unknown" }
  | { kind: "failed"; message: string };

const checks = new Map<string, ParameterCheck>();

parentPort?.on("message", (job: CheckJob) => parentPort?.postMessage(answer(job)));

function answer(job: CheckJob): CheckAnswer {
  try {
    if (job.kind === "prepare") {
      keep(job.hash, compileCheck(JSON.parse(job.schema), job.for));
      return { kind: "prepared" };
    }
    const check = checks.get(job.hash);
    if (check === undefined) return { kind: "unknown" };
    keep(job.hash, check);
    const issues = check.fits(job.parameters) ? [] : check.listIssues();
    return { kind: "checked", issues, parameters: job.parameters };
  } catch (error) {
    return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

function keep(hash: string, check: ParameterCheck): void {
  checks.delete(hash);
  checks.set(hash, check);
  for (const oldest of checks.keys()) {
    if (checks.size <= MAX_CHECKS) break;
    checks.delete(oldest);
  }
}
