/** The SQL statement that stores the progress of runs. The database function `keep_progress` reads it. */
import type { Db } from "#api/db/pool.ts";
import type { ProgressPart } from "../model/records.ts";

/**
 * Adds a part for each run that still holds its claim; a second attempt replaces the first. Rows locked by another
 * statement are skipped, because their run may be ending. Returns the ids of the stored runs.
 */
export async function addProgress(db: Db, parts: readonly ProgressPart[]): Promise<number[]> {
  const rows = parts.map(({ stdout, stderr, levels, truncated, packages, warnings, ...rest }) => ({
    ...rest,
    stdout: stdout.toString("base64"),
    stderr: stderr.toString("base64"),
    stdoutTruncated: truncated.stdout,
    stderrTruncated: truncated.stderr,
    ...(levels !== null && { levels }),
    ...(packages.length > 0 && { packages }),
    ...(warnings.length > 0 && { warnings }),
  }));
  const stored = await db<{ id: number }[]>`
    with held as (
      select c.* from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (
        id bigint, claim uuid, part integer, stdout text, stderr text, "stdoutTruncated" boolean, "stderrTruncated" boolean,
        output json, outputs integer, calls json, usage json, packages json, warnings json, levels json
      ) join processes p on p.id = c.id and p.claim = c.claim and p.state in ('running', 'paused', 'terminating')
      for share of p skip locked
    )
    insert into run_progress (process_id, claim, part, stdout, stderr, stdout_truncated, stderr_truncated, output, outputs,
      calls, usage, packages, warnings, levels)
    select id, claim, part, decode(stdout, 'base64'), decode(stderr, 'base64'), "stdoutTruncated", "stderrTruncated", output,
      outputs, calls, usage, packages, warnings, levels
    from held
    on conflict (process_id, claim, part) do update set stdout = excluded.stdout, stderr = excluded.stderr,
      stdout_truncated = excluded.stdout_truncated, stderr_truncated = excluded.stderr_truncated, output = excluded.output,
      outputs = excluded.outputs, calls = excluded.calls, usage = excluded.usage, packages = excluded.packages,
      warnings = excluded.warnings, levels = excluded.levels
    returning process_id as id`;
  return stored.map(({ id }) => id);
}
