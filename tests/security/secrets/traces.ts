/** Looks for traces of a text wherever a server leaves some: tables, memory of a process, collected text. */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import type { Pool } from "#api/db/pool.ts";

const CHUNK_BYTES = 4 * 1024 * 1024;
const PAGE_BYTES = 4096n;

/** Byte sequences that give a text away: itself in UTF-8 and UTF-16, and its base64 wherever it begins. */
export function needlesOf(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const inBase64 = [0, 1, 2].map((preceding) => {
    const digits = Buffer.concat([Buffer.alloc(preceding), bytes]).toString("base64url");
    return digits.slice(Math.ceil((preceding * 8) / 6), Math.floor(((preceding + bytes.length) * 8) / 6));
  });
  return [
    bytes,
    Buffer.from(text, "utf16le"),
    ...inBase64.flatMap((digits) => [Buffer.from(digits), Buffer.from(digits, "utf16le")]),
  ];
}

export function holds(haystack: string | Buffer, needles: readonly Buffer[]): boolean {
  const bytes = typeof haystack === "string" ? Buffer.from(haystack) : haystack;
  return needles.some((needle) => bytes.includes(needle));
}

/** Names of the columns, of every table, that hold one of the needles; bytes are looked through as they are. */
export async function findInTables(
  pool: Pool,
  needles: readonly Buffer[],
): Promise<{ columns: string[]; looked: number }> {
  const columns = await pool<{ table: string; column: string; type: string }[]>`
    select table_name as "table", column_name as "column", data_type as type
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1, 2`;
  const found: string[] = [];
  for (const { table, column, type } of columns) {
    const cells = await pool.unsafe<{ cell: string | Buffer | null }[]>(
      `select ${type === "bytea" ? `"${column}"` : `"${column}"::text`} as cell from "${table}"`,
    );
    if (cells.some(({ cell }) => cell !== null && holds(cell, needles))) found.push(`${table}.${column}`);
  }
  return { columns: found, looked: columns.length };
}

/** Children of this process that run a script or wait for one. */
export function listChildren(): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const status = readFileSync(`/proc/${name}/status`, "latin1");
      const command = readFileSync(`/proc/${name}/cmdline`, "latin1");
      const isOurs = new RegExp(`^PPid:\\s+${process.pid}$`, "m").test(status);
      return isOurs && /dist\/runner\/(zygote\/)?(child|slot)\.js/.test(command) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

/** Whether a process has one of the needles in any memory that can be read. Root only. */
export function findInMemory(pid: number, needles: readonly Buffer[]): { found: boolean; bytes: number } {
  const overlap = Math.max(...needles.map((needle) => needle.length));
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const pagemap = openSync(`/proc/${pid}/pagemap`, "r");
  let bytes = 0;
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, "latin1").split("\n")) {
      const [, from = "", to = "", access = ""] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? [];
      if (!access.startsWith("r") || line.includes("[v")) continue;
      for (const [start, end] of presentPages(pagemap, BigInt(`0x${from}`), BigInt(`0x${to}`)))
        for (let at = start; at < end; at += BigInt(CHUNK_BYTES - overlap)) {
          const wanted = Number(end - at < BigInt(CHUNK_BYTES) ? end - at : BigInt(CHUNK_BYTES));
          let read = 0;
          try {
            read = readSync(memory, chunk, 0, wanted, at);
          } catch {
            break;
          }
          bytes += read;
          if (holds(chunk.subarray(0, read), needles)) return { found: true, bytes };
        }
    }
  } finally {
    closeSync(memory);
    closeSync(pagemap);
  }
  return { found: false, bytes };
}

/**
 * The stretches of a mapping that hold something. To read a page that was never touched makes the kernel give the
 * process one, which counts against its memory limit where the kernel has no shared page of zeros.
 * Bits 63 and 62 of an entry: present, swapped (Documentation/admin-guide/mm/pagemap.rst).
 */
function presentPages(pagemap: number, from: bigint, to: bigint): [bigint, bigint][] {
  const entries = Buffer.alloc(Number((to - from) / PAGE_BYTES) * 8);
  readSync(pagemap, entries, 0, entries.length, (from / PAGE_BYTES) * 8n);
  const stretches: [bigint, bigint][] = [];
  for (let index = 0; index < entries.length; index += 8) {
    if ((entries[index + 7] ?? 0) < 0x40) continue;
    const at = from + BigInt(index / 8) * PAGE_BYTES;
    const last = stretches.at(-1);
    if (last?.[1] === at) last[1] = at + PAGE_BYTES;
    else stretches.push([at, at + PAGE_BYTES]);
  }
  return stretches;
}
