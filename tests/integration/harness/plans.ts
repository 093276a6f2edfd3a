/**
 * Reads the plans that Postgres followed for a statement, from its own auto_explain, so that they are those of the very
 * statement, prepared as the server prepares it.
 */
import { createPool, type Pool } from "#api/db/pool.ts";

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

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

export interface CallPlan {
  /** Growing tables that were read from end to end. */
  sequential: string[];
  /** Rows looked at, wanted or not. */
  rowsRead: number;
}

export interface Explainer extends AsyncDisposable {
  readonly pool: Pool;
  /** Repeats the statements of `run`, which go through `pool`, and reads the plans of the last time. */
  explain(run: () => Promise<unknown>): Promise<CallPlan>;
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
    set auto_explain.log_format = json;
    set auto_explain.log_nested_statements = on;
    set client_min_messages = log;`);
  return {
    pool,
    async explain(run) {
      for (let execution = 0; execution < EXECUTIONS; execution += 1) {
        plans = [];
        await run();
      }
      return summarize(plans);
    },
    [Symbol.asyncDispose]: () => pool.end({ timeout: 5 }),
  };
}

function summarize(plans: readonly PlanNode[]): CallPlan {
  const sequential = new Set<string>();
  let rowsRead = 0;
  const visit = (node: PlanNode, table: string | undefined) => {
    // The index scan below a bitmap scan does not name its table.
    const relation = node["Relation Name"] ?? (node["Node Type"] === "Bitmap Index Scan" ? table : undefined);
    if (relation !== undefined && node["Node Type"].endsWith("Scan")) {
      const loops = node["Actual Loops"] ?? 0;
      const rows =
        (node["Actual Rows"] ?? 0) +
        (node["Rows Removed by Filter"] ?? 0) +
        (node["Rows Removed by Index Recheck"] ?? 0);
      rowsRead += rows * loops;
      if (node["Node Type"] === "Seq Scan" && loops > 0 && GROWING.has(relation)) sequential.add(relation);
    }
    for (const child of node.Plans ?? []) visit(child, relation ?? table);
  };
  for (const plan of plans) visit(plan, undefined);
  return { sequential: [...sequential], rowsRead: Math.round(rowsRead) };
}
