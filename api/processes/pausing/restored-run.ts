import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import type { CallReply, RestoredRun } from "../model/calls.ts";
import { listJournal, listPackages, listSaved, takeCheckpoint } from "../store/pauses.ts";
import type { KeptRun, PauseStorage, RunName } from "./transactions.ts";

const decompress = promisify(zstdDecompress);
const MAX_DECOMPRESSED_BYTES = 64 * 1024 * 1024;
/** Maximum number of replays that do not reach the next pause. */
const MAX_REPLAYS = 10;

/** Returns the state to replay from, or a message if the run cannot be replayed. Rejects if the database fails. */
export async function readRestoredRun(
  storage: PauseStorage,
  { id, claim }: Pick<RunName, "id" | "claim">,
): Promise<RestoredRun | string> {
  const { pool, sealer, approvalStore } = storage;
  const [row, approvals, events, journal, saved, packages] = await Promise.all([
    takeCheckpoint(pool, id, claim),
    approvalStore.listOfRun(pool, id),
    approvalStore.listEvents(pool, id),
    listJournal(pool, id),
    listSaved(pool, id),
    listPackages(pool, id),
  ]);
  if (row === null) return "No data was stored to replay the run from.";
  if (row.replays > MAX_REPLAYS)
    return `It was replayed ${MAX_REPLAYS} times and never reached its next pause.`;
  const { run, usage } = row;
  const keys = journal.map(({ seq }) => `${id}:${seq}`);
  let kept: Map<string, unknown>;
  try {
    kept = await sealer.recall(pool, "call_log", [String(id), ...keys]);
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "secrets_key_missing") throw error;
    return `What it is replayed from cannot be decrypted. ${error.message}`;
  }
  const packed = kept.get(String(id));
  if (packed === undefined) return "No data was stored to replay the run from.";
  const { checkpoint, trail } = (await unpack(packed)) as KeptRun;
  const calls = journal.map(({ endedAt, ...call }) => {
    const reply = (kept.get(`${id}:${call.seq}`) as CallReply | undefined) ?? null;
    return { ...call, reply: endedAt === null ? null : reply };
  });
  const calledAt = trail.map((call) => ({ ...call, startedAt: new Date(call.startedAt) }));
  return { run, checkpoint, trail: calledAt, usage, packages, approvals, events, calls, saved };
}

async function unpack(packed: unknown): Promise<unknown> {
  const { json, zstd } = packed as { json?: string; zstd?: string };
  if (json !== undefined) return JSON.parse(json);
  const bytes = await decompress(Buffer.from(zstd ?? "", "base64"), {
    maxOutputLength: MAX_DECOMPRESSED_BYTES,
  });
  return JSON.parse(bytes.toString("utf8"));
}
