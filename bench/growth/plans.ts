/**
 * The plans that the database followed, of every statement of a call and of the functions that these call: told by its
 * own auto_explain, so that they are those of the very statements, prepared as the server prepares them.
 */
import { createPool, type Pool } from "#api/db/pool.ts";
import type { Operation } from "./operation.ts";

/** Tables whose rows grow with the number of processes. */
const GROWING = new Set([
  "processes",
  "process_results",
  "tool_calls",
  "audit_log",
  "idempotency_keys",
  "approvals",
]);
/** A prepared statement may get another plan for all values from its sixth execution on. */
const EXECUTIONS = 7;

export interface CallPlan {
  /** How each table was read, e.g. `processes: Index Scan Backward processes_pkey`. */
  scans: string[];
  /** Growing tables that were read from end to end. */
  sequential: string[];
  /** Rows looked at, wanted or not. */
  rowsRead: number;
  /** Of 8 KiB. */
  pages: number;
}

interface PlanNode {
  "Node Type": string;
  "Parent Relationship"?: string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Scan Direction"?: string;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  "Shared Hit Blocks"?: number;
  "Shared Read Blocks"?: number;
  Plans?: PlanNode[];
}

export interface Explainer extends AsyncDisposable {
  readonly pool: Pool;
  /** Repeats the operation, on its pool; the plans are those of the last time. */
  explain(operation: Operation): Promise<CallPlan>;
}

export async function createExplainer(url: string): Promise<Explainer> {
  let plans: PlanNode[] = [];
  const pool = createPool(url, {
    maxConnections: 1,
    permanent: true,
    onNotice: (message) => {
      const start = message.indexOf("plan:\n");
      if (start < 0) return;
      plans.push((JSON.parse(message.slice(start + "plan:\n".length)) as { Plan: PlanNode }).Plan);
    },
  });
  await pool.unsafe(`
    load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_analyze = on;
    set auto_explain.log_buffers = on;
    set auto_explain.log_format = json;
    set auto_explain.log_nested_statements = on;
    set client_min_messages = log;`);
  return {
    pool,
    async explain({ before, run, after }) {
      let seen: PlanNode[] = [];
      for (let execution = 0; execution < EXECUTIONS; execution += 1) {
        const given = await before?.();
        plans = [];
        const answer = await run(given);
        seen = plans;
        plans = [];
        await after?.(answer as never);
      }
      return summarize(seen);
    },
    [Symbol.asyncDispose]: () => pool.end({ timeout: 5 }),
  };
}

function summarize(plans: readonly PlanNode[]): CallPlan {
  const scans = new Set<string>();
  const sequential = new Set<string>();
  let rowsRead = 0;
  let pages = 0;
  const visit = (node: PlanNode, table: string | undefined) => {
    // The scan of a bitmap's index does not name the table that it is for.
    const relation = node["Relation Name"] ?? (node["Node Type"] === "Bitmap Index Scan" ? table : undefined);
    if (relation !== undefined && node["Node Type"].endsWith("Scan")) {
      const loops = node["Actual Loops"] ?? 0;
      const rows =
        (node["Actual Rows"] ?? 0) +
        (node["Rows Removed by Filter"] ?? 0) +
        (node["Rows Removed by Index Recheck"] ?? 0);
      rowsRead += rows * loops;
      scans.add(describe(node, relation));
      if (node["Node Type"] === "Seq Scan" && loops > 0 && GROWING.has(relation)) sequential.add(relation);
    }
    for (const child of node.Plans ?? []) visit(child, relation ?? table);
  };
  for (const plan of plans) {
    visit(plan, undefined);
    // A node's pages are its own and those of all below it.
    pages += (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
  }
  return { scans: [...scans].sort(), sequential: [...sequential], rowsRead: Math.round(rowsRead), pages };
}

function describe(node: PlanNode, relation: string): string {
  const direction = node["Scan Direction"] === "Backward" ? " Backward" : "";
  const index = node["Index Name"] === undefined ? "" : ` ${node["Index Name"]}`;
  return `${relation}: ${node["Node Type"]}${direction}${index}`;
}
