/** Request and record schemas. Types, validation and the OpenAPI document are derived from them. */
import { z } from "zod";
import { EXECUTION_EXIT_STATES, EXECUTION_REASONS, type ExecutionReason, runWarningSchema } from "#sdk";
import { givenFilesSchema, processArtifactSchema, processFileSchema, scriptNameSchema } from "./files.ts";
import { packageUseSchema } from "./packages.ts";
import { PROCESS_STATES } from "./states.ts";

export const EXIT_STATES = EXECUTION_EXIT_STATES;
const REASONS = Object.values(EXECUTION_REASONS).flat() as [ExecutionReason, ...ExecutionReason[]];

/** Maximum characters of a `ref`. A Postgres index entry is limited to about 2700 bytes. */
export const MAX_REF_CHARACTERS = 500;
export const MAX_WAIT_MS = 60_000;
export const MAX_LIST_LIMIT = 200;
export const DEFAULT_LIST_LIMIT = 50;
export const DEFAULT_TIMEOUT_MS = 30_000;
export const MAX_IDEMPOTENCY_KEY_CHARACTERS = 200;

/** Text that Postgres can store and UTF-8 can encode. */
function storableText(what: string) {
  return z
    .string()
    .refine((text) => !text.includes("\0"), {
      message: `${what} must not contain a NUL character (\\u0000). Remove it.`,
    })
    .refine((text) => text.isWellFormed(), {
      message: `${what} must be well-formed Unicode, and has half of a surrogate pair. Encode it as UTF-8.`,
    });
}

const positiveInteger = z.int().positive();

export const processOptionsSchema = z.strictObject({
  timeout: positiveInteger
    .nullable()
    .default(DEFAULT_TIMEOUT_MS)
    .describe("Milliseconds from the start of running; null is no limit. Clamped to the server maximum."),
  memoryMb: positiveInteger
    .optional()
    .describe("Memory limit in MiB. Default and maximum: the environment's."),
  cpuMs: positiveInteger
    .optional()
    .describe("CPU time limit in milliseconds. Default: none, or the server maximum."),
});

const inputSchema = z
  .unknown()
  .optional()
  .describe(
    "JSON that the script finds as `cyrnel.input`; at most 1 MiB of JSON text, nested at most 64 levels deep.",
  );

/** Body of `POST /processes`. `maxCodeBytes` is a number of UTF-8 bytes. */
export function createProcessBodySchema(maxCodeBytes: number) {
  return z.strictObject({
    code: storableText("code")
      .refine((code) => Buffer.byteLength(code) <= maxCodeBytes, {
        message: `code must be at most ${maxCodeBytes} bytes of UTF-8 (CYRNEL_MAX_CODE_SIZE_BYTES).`,
      })
      .describe("The script: TypeScript."),
    ref: storableText("ref")
      .trim()
      .min(1, "ref must not be empty. Leave it out to have none.")
      .max(MAX_REF_CHARACTERS)
      .optional()
      .describe("The client's own unique label of the process."),
    autorun: z.boolean().default(true).describe("false stores the process without running it."),
    block: z.boolean().default(false).describe("true answers when the run has ended, with the whole record."),
    priority: z
      .int()
      .min(-100)
      .max(100)
      .default(0)
      .describe("Among the queued processes of the same key, higher ones run first."),
    options: processOptionsSchema.prefault({}),
    files: givenFilesSchema.optional(),
    name: scriptNameSchema
      .optional()
      .describe(
        "The name of the script among its files: its imports are relative to it, and errors show it. Default: script.ts.",
      ),
    input: inputSchema,
    inputSchema: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        "JSON Schema (draft 2020-12) that `input` has to fit, here and in every later run; at most 64 KiB of JSON text. Nothing is filled in.",
      ),
  });
}
export type CreateProcessBody = z.output<ReturnType<typeof createProcessBodySchema>>;

export const runSignalBodySchema = z.strictObject({
  force: z
    .boolean()
    .default(false)
    .describe("Run although there are results of an earlier run; they are cleared."),
  block: z.boolean().default(false).describe("Answer when the run has ended."),
  input: inputSchema.describe(
    "Replaces the input of the process, from this run on; has to fit its `inputSchema`. Absent: the input stays.",
  ),
});
export type RunSignalBody = z.output<typeof runSignalBodySchema>;

/** A positive decimal integer that both JavaScript and Postgres can represent. */
export const processIdParamsSchema = z.object({
  id: z
    .string()
    .regex(/^[1-9][0-9]{0,14}$/, "A process id is a positive integer in digits.")
    .transform(Number)
    .describe("Process id."),
});

function integerInDigits(name: string, min: number, max: number) {
  const message = `${name} must be an integer from ${min} to ${max}, in digits.`;
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, { message });
}

export const waitQuerySchema = z.strictObject({
  wait: integerInDigits("wait", 0, MAX_WAIT_MS)
    .optional()
    .describe(`Milliseconds (at most ${MAX_WAIT_MS}) to wait until the process is idle or paused.`),
});

export const listQuerySchema = z.strictObject({
  state: z.enum(PROCESS_STATES).optional(),
  status: z
    .enum([...EXIT_STATES, "null"])
    .optional()
    .describe("An exit state, or `null` for processes without one."),
  ref: storableText("ref")
    .trim()
    .min(1, "ref must not be blank. Leave it out to list processes with any ref.")
    .max(MAX_REF_CHARACTERS)
    .optional()
    .describe("Exactly this ref; spaces around it do not count."),
  limit: integerInDigits("limit", 1, MAX_LIST_LIMIT).default(DEFAULT_LIST_LIMIT),
  cursor: z.string().max(500).optional().describe("`nextCursor` of the page before."),
});
export type ListQuery = z.output<typeof listQuerySchema>;

const timestamp = z.string().nullable().describe("ISO 8601, UTC.");

export const reasonSchema = z.enum(REASONS).meta({ id: "EndReason", description: "Why a run ended." });

const errorDetailResponseSchema = z
  .object({
    name: z.string(),
    message: z.string(),
    stack: z.string().nullable(),
    line: z.int().positive().nullable().describe("1-based, in the submitted source."),
    column: z.int().positive().nullable().describe("1-based, in the submitted source."),
    file: z
      .string()
      .optional()
      .describe("The source file these are in; absent for the submitted script itself."),
  })
  .meta({ id: "ScriptError", description: "Why the run ended without success." });
export type ProcessErrorDetail = z.output<typeof errorDetailResponseSchema>;

const usageResponseSchema = z
  .object({
    queuedMs: z.number(),
    startMs: z.number(),
    wallMs: z.number(),
    cpuMs: z.number(),
    peakMemoryBytes: z.number(),
    toolCalls: z.int(),
  })
  .meta({ id: "RunUsage", description: "What the run used." });

export const processSummarySchema = z
  .object({
    id: positiveInteger,
    ref: z.string().optional(),
    state: z.enum(PROCESS_STATES),
    queue: z
      .object({
        position: positiveInteger.describe("1: the next."),
        estimatedMs: z
          .int()
          .nonnegative()
          .nullable()
          .describe("About how long it will wait; null: not known."),
      })
      .optional()
      .describe("Where it is in the queue, as things are now. Only while it is queued."),
    exitState: z.enum(EXIT_STATES).nullable(),
    reason: reasonSchema.nullable().describe("Which way of ending it was."),
    error: z.string().nullable(),
    errorDetail: errorDetailResponseSchema.nullable(),
    options: z
      .object({
        timeoutMs: positiveInteger.nullable(),
        memoryMb: positiveInteger.nullable(),
        cpuMs: positiveInteger.nullable(),
      })
      .meta({ id: "RunLimits", description: "The limits in force." }),
    output: z.record(z.string(), z.unknown()).describe("What the script emitted, merged."),
    result: z.unknown().describe("What the script returned, or null."),
    warnings: z
      .array(
        runWarningSchema.meta({ id: "RunWarning", description: "A warning about a run that did not fail." }),
      )
      .describe(
        "What a reader of the run should know that did not fail it. At most 50; a last entry counts the rest.",
      ),
    truncated: z.object({ stdout: z.boolean(), stderr: z.boolean() }),
    environment: z.string().nullable().describe("Module id of the environment of the current or last run."),
    usage: usageResponseSchema,
    approvals: z.array(z.string()).describe("Ids of the approvals the process waits for."),
    createdAt: z.string(),
    startedAt: timestamp,
    completedAt: timestamp,
  })
  .meta({
    id: "ProcessSummary",
    description: "A process as lists show it: without code, input, stdout and stderr.",
  });

export type ProcessSummary = z.output<typeof processSummarySchema>;

export const processSchema = processSummarySchema
  .extend({
    code: z.string(),
    input: z.unknown().describe("What the script finds as `cyrnel.input`; null: none, or null."),
    inputSchema: z.record(z.string(), z.unknown()).nullable().describe("What the input has to fit."),
    files: z.array(processFileSchema).describe("What runs find in their workspace."),
    name: z.string().nullable().describe("The name of the script among its files; null: script.ts."),
    stdout: z.string(),
    stderr: z.string(),
    artifacts: z.array(processArtifactSchema).describe("What the last run left."),
    packages: z.array(packageUseSchema).describe("Which packages the last run has imported."),
  })
  .meta({ id: "Process", description: "A submitted script, its state and its results." });
export type ProcessRecord = z.output<typeof processSchema>;

export const signaledSchema = z
  .union([processSchema, z.object({ id: positiveInteger, state: z.enum(PROCESS_STATES) })])
  .describe("The record; for a key without `processes:read` the id and the state alone.");

export const createdSchema = z
  .union([processSchema, z.object({ id: positiveInteger })])
  .describe("The id; with `block` the whole record.");

export const processListSchema = z.object({
  processes: z.array(processSummarySchema),
  nextCursor: z.string().nullable().describe("Pass it as `cursor` for the next page; null on the last."),
});

/** Header schemas are loose because requests have other headers too. */
export const createProcessHeadersSchema = z.looseObject({
  "idempotency-key": z
    .string()
    .regex(
      new RegExp(`^[\\x20-\\x7e]{1,${MAX_IDEMPOTENCY_KEY_CHARACTERS}}$`),
      `Idempotency-Key must be 1 to ${MAX_IDEMPOTENCY_KEY_CHARACTERS} printable ASCII characters.`,
    )
    .optional()
    .describe("The same key and body within 24 hours answer the first process again."),
});

export const eventHeadersSchema = z.looseObject({
  "last-event-id": z
    .string()
    .optional()
    .describe("Id of the last event received: the stream goes on after it."),
});
