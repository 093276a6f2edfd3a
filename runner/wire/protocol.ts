/**
 * Every message between the host and a child: JSON-RPC 2.0 in the frames of frames.ts, with file pieces attached. The
 * host validates each message of a child against these schemas; the child imports only types. A connection serves one
 * run, so messages do not name the execution.
 */
import { z } from "zod";
import { isJsonObject, runWarningSchema } from "#sdk";

/** Increase it whenever a message changes shape. A child with another version is rejected. */
export const PROTOCOL_VERSION = 9;

export const PROTOCOL_LIMITS = {
  maxMessageBytes: 1024 * 1024,
  /** Limit for frames such as `end` and `output`, whose JSON text may exceed the value's limit. */
  maxEndBytes: 8 * 1024 * 1024,
  /** Limit for all frames of one run from a child, excluding file pieces. */
  maxTotalBytes: 64 * 1024 * 1024,
  /** Maximum nesting of a message, checked on its text before parsing. */
  maxDepth: 64,
  maxResultDepth: 512,
  maxOutputBytes: 4 * 1024 * 1024,
  maxResultBytes: 4 * 1024 * 1024,
  maxFilePieceBytes: 256 * 1024,
  /** File and body calls of one run, which do not count toward `maxCalls`. */
  maxFileCalls: 50_000,
} as const;

/** Levels that the message and its `params` add around a value. */
export const ENVELOPE_DEPTH = 2;

export interface SessionLimits {
  maxConcurrentCalls: number;
  maxCalls: number;
  maxMessageBytes: number;
  maxEndBytes: number;
  maxTotalBytes: number;
  /** Bytes of each stream to pass on. One more byte marks the cut. */
  maxStdoutBytes: number;
  maxStderrBytes: number;
}

export const DEFAULT_SESSION_LIMITS: SessionLimits = {
  maxConcurrentCalls: 32,
  maxCalls: 10_000,
  maxMessageBytes: PROTOCOL_LIMITS.maxMessageBytes,
  maxEndBytes: PROTOCOL_LIMITS.maxEndBytes,
  maxTotalBytes: PROTOCOL_LIMITS.maxTotalBytes,
  maxStdoutBytes: 1024 * 1024,
  maxStderrBytes: 1024 * 1024,
};

export interface StartParams {
  /**
   * A JavaScript expression for an async function that takes `module(specifier)` from runner/child/realm/imports.ts.
   */
  code: string;
  /** Source map `mappings` from `code` to the submitted source, for stacks. */
  mappings: string;
  process: { id: number; ref: string | null };
  input?: unknown;
  /** Replaces `input` if it contains bigints: JSON text in which other numbers of that size have a fraction. */
  exactInput?: string;
  /** Seed of `crypto.getRandomValues`: 32 random bytes in base64. */
  seed: string;
  /** Seed of `Math.random`: four integers from 0 to 2^32-1, not all zero. */
  randomSeed: number[];
  /** True if the script names a clock besides `Date` and `performance`, such as `Temporal`. */
  readsWideClocks: boolean;
  files?: { name: string; size: number; contentType: string }[];
  /** Digests of the imported packages, which follow in this order, one frame each (`encodePackage` in frames.ts). */
  packages?: string[];
  /** Makes the child evaluate one package, instead of a script, to create its code cache. */
  makesCodeCache?: true;
  journal?: Journal;
  limits: {
    maxConcurrentCalls: number;
    maxCalls: number;
    maxMessageBytes: number;
    maxStdoutBytes: number;
    maxStderrBytes: number;
    maxOutputBytes: number;
    maxResultBytes: number;
  };
}

/** A host error in the form that a script may see, never with a stack. */
export interface WireError {
  name: string;
  message: string;
  code?: string;
  status?: number;
  /** Further members of the error, such as the headers and body of an HTTP response. */
  data?: Record<string, unknown>;
}

/**
 * Messages from the host. `start` comes once, after `ready`; replies follow calls; the child sends `paused` after
 * `pause`.
 */
export type HostMessage =
  | { jsonrpc: "2.0"; method: "start"; params: StartParams }
  /**
   * `pause` freezes the script after its turn, until `resume`. The child replies to `waiting` with a message of the
   * same name.
   */
  | { jsonrpc: "2.0"; method: "pause" | "resume" | "waiting" }
  /** With `exact`, integers beyond the safe range become bigints; other numbers of that size have a fraction. */
  | { jsonrpc: "2.0"; id: number; result: unknown; exact?: true }
  | { jsonrpc: "2.0"; id: number; error: { code: number; message: string; data: WireError } };

/** Data that a replay needs besides seeds and replies. */
export const journalSchema = z.strictObject({
  /** Events that reached the script, in order: the id of an answered call, or minus the id of a timer. */
  events: z.array(z.int()).max(50_000),
  readings: z.array(z.number()).max(100_000),
});
export type Journal = z.infer<typeof journalSchema>;

/** Methods that transfer file contents, which the call log does not store. */
export const FILE_METHODS: ReadonlySet<CallMethod> = new Set([
  "readFile",
  "writeFile",
  "removeFile",
  "copyFile",
  "resizeFile",
]);

const fileName = z.string().min(1).max(1000);
const identifier = z.string().min(1).max(500);
const toolId = z.strictObject({ serviceId: identifier, toolId: identifier });
const query = z.string().max(1000).optional();
const limit = z.int().min(1).max(200).optional();

/** Not a zod record, which would copy the object without a member called `__proto__`. */
const jsonObject = z.custom<Record<string, unknown>>(isJsonObject, "expected an object");

export const callParamsSchemas = {
  /**
   * With `saveAs`, the reply is `{answer, size}`, where `size` is the file's size in bytes, or null if the tool saved
   * nothing. A `fetch` request has the serviceId `fetch` and an empty toolId.
   */
  invoke: z.strictObject({
    serviceId: identifier,
    toolId: identifier.or(z.literal("")),
    parameters: jsonObject,
    saveAs: fileName.optional(),
    throwOnError: z.literal(false).optional(),
  }),
  discoverServices: z.strictObject({ query, limit }),
  discoverTools: z.strictObject({ query, serviceId: identifier.optional(), limit }),
  getService: z.strictObject({ id: identifier }),
  getTool: toolId,
  getToolDocs: toolId,
  ask: z.strictObject({
    message: z.string().min(1).max(10_000),
    schema: jsonObject.optional(),
  }),
  /**
   * The reply is `{bytes}` with that many bytes attached. With `asText` it is `{text, bytes}`, where the text ends at
   * a complete character.
   */
  readFile: z.strictObject({
    name: fileName,
    offset: z.int().min(0),
    length: z.int().min(1).max(PROTOCOL_LIMITS.maxFilePieceBytes),
    asText: z.literal(true).optional(),
  }),
  /**
   * All pieces of a write share its number, which the child counts. The last piece has no `more`; `discard` drops all
   * of them. The data is attached, or in `text`. The reply is `{size}`.
   */
  writeFile: z.strictObject({
    name: fileName,
    write: z.int().min(1),
    mode: z.enum(["replace", "append", "patch", "discard"]),
    at: z.int().min(0).optional(),
    more: z.literal(true).optional(),
    text: z.string().optional(),
  }),
  removeFile: z.strictObject({ name: fileName }),
  /** The reply is `{size}`, as for `resizeFile`. */
  copyFile: z.strictObject({ name: fileName, to: fileName, moves: z.literal(true).optional() }),
  resizeFile: z.strictObject({ name: fileName, size: z.int().min(0) }),
  /**
   * Reads the streaming body of an `invoke`. The reply is `{base64}` with the next piece, or null at the end.
   * Canceling `call` closes the body.
   */
  readBody: z.strictObject({ call: z.int().min(1) }),
} as const;
export type CallMethod = keyof typeof callParamsSchemas;

const version = z.literal("2.0");
const callId = z.int().min(1).max(1_000_000_000);

function callMessage<M extends CallMethod>(method: M) {
  return z.strictObject({
    jsonrpc: version,
    id: callId,
    method: z.literal(method),
    params: callParamsSchemas[method],
  });
}

function notification<M extends string, P extends z.ZodType>(method: M, params: P) {
  return z.strictObject({ jsonrpc: version, method: z.literal(method), params });
}

const text = z.strictObject({ text: z.string() });

const attackAnswers = z.array(z.number()).max(100);

/** First message of a child. Its locks are on, so the host can verify it from outside. */
export const bootedParamsSchema = z.strictObject({
  protocol: z.int(),
  node: z.string().max(50),
  /** Results of the system calls that the child was told to try, in that order. */
  answers: z.strictObject({ birth: attackAnswers, locked: attackAnswers }).optional(),
});
export type BootedParams = z.infer<typeof bootedParamsSchema>;

export const readyParamsSchema = z.strictObject({
  /** Layers of docs/security.md that the child claims to have set up itself. */
  layers: z.array(z.int().min(0).max(8)).max(9),
  /** True if V8 accepted the realm's code cache. If not, the start only takes longer. */
  codeCache: z.boolean(),
  /** Set for a fork of a zygote, whose V8 flags require other code caches. */
  isFork: z.literal(true).optional(),
});
export type ReadyParams = z.infer<typeof readyParamsSchema>;

const scriptErrorSchema = z.strictObject({
  name: z.string().max(1000),
  message: z.string().max(100_000),
  stack: z.string().max(100_000),
  line: z.int().positive().optional(),
  column: z.int().positive().optional(),
  /** Name of the source file in the workspace. Absent for the submitted one. */
  file: z.string().max(255).optional(),
});

export const endParamsSchema = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), result: z.unknown().optional() }),
  z.strictObject({
    ok: z.literal(false),
    reason: z.enum(["script_error", "unhandled_rejection", "output_limit"]),
    error: scriptErrorSchema,
  }),
]);
export type EndParams = z.infer<typeof endParamsSchema>;

const codeCacheParamsSchema = z.strictObject({
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  data: z.string(),
});
export type CodeCacheParams = z.infer<typeof codeCacheParamsSchema>;

const waitingParamsSchema = z.strictObject({
  calls: z
    .array(
      z.strictObject({
        /** Id of the call, or zero for a timer. */
        id: z.int().min(0).max(1_000_000_000),
        line: z.int().positive(),
        file: z.string().max(255).optional(),
      }),
    )
    .max(4),
});
export type WaitingParams = z.infer<typeof waitingParamsSchema>;

export const childMessageSchema = z.union([
  z.discriminatedUnion("method", [
    notification("booted", bootedParamsSchema),
    notification("ready", readyParamsSchema),
    /** `level` names the console method, unless it is the stream's usual one. */
    notification("stdout", text.extend({ level: z.literal("debug").optional() })),
    notification("stderr", text.extend({ level: z.literal("warn").optional() })),
    /** The data is base64. Comes before `end`. */
    notification("codeCache", codeCacheParamsSchema),
    notification("output", z.strictObject({ value: jsonObject })),
    notification("warning", runWarningSchema.strict()),
    /** Counts the warnings that were not sent. Comes before `end`. */
    notification("warningsDropped", z.strictObject({ count: z.int().positive() })),
    notification("end", endParamsSchema),
    /** The script is frozen. `journal` is null if the run cannot be replayed. */
    notification("paused", z.strictObject({ journal: journalSchema.nullable() })),
    notification("live", z.strictObject({})),
    /** A replayed script behaves differently than before. `what` completes "the script …". */
    notification("diverged", z.strictObject({ what: z.string().min(1).max(1000) })),
    /** Lists the calls that the script has waited for longest, with their lines. */
    notification("waiting", waitingParamsSchema),
    /**
     * The script aborted this call, whose reply still comes or was already sent. If the id is the next one, that call
     * is logged but not made.
     */
    notification("cancel", z.strictObject({ id: callId })),
    callMessage("invoke"),
    callMessage("discoverServices"),
    callMessage("discoverTools"),
    callMessage("getService"),
    callMessage("getTool"),
    callMessage("getToolDocs"),
    callMessage("ask"),
    callMessage("readFile"),
    callMessage("writeFile"),
    callMessage("removeFile"),
    callMessage("copyFile"),
    callMessage("resizeFile"),
    callMessage("readBody"),
  ]),
]);
export type ChildMessage = z.infer<typeof childMessageSchema>;
