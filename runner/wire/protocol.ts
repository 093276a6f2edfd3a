/**
 * Every message between the host and a child, both ways: JSON-RPC 2.0 in the frames of frames.ts, pieces of files attached to
 * them. The host checks each message of a child against these schemas; the child imports
 * types only. A frame's connection is its identity: no message names an execution.
 */
import { z } from "zod";
import { isJsonObject, runWarningSchema } from "#sdk";

/** Raised whenever a message changes shape; a child with another version is refused. */
export const PROTOCOL_VERSION = 9;

/** Bounds of one connection. Configurable ones are defaults. */
export const PROTOCOL_LIMITS = {
  /** One frame, child to host, except `end` (see maxEndBytes). */
  maxMessageBytes: 1024 * 1024,
  /** The `end` and `output` frames, which carry a result or output. JSON text may be larger than the value's cap. */
  maxEndBytes: 8 * 1024 * 1024,
  /** All frames of one run, child to host; those with pieces of files do not count. */
  maxTotalBytes: 64 * 1024 * 1024,
  /** Nesting of a message; checked on the text, before it is parsed. */
  maxDepth: 64,
  maxResultDepth: 512,
  maxOutputBytes: 4 * 1024 * 1024,
  maxResultBytes: 4 * 1024 * 1024,
  /** One piece of a file, either way: the attachment of a frame. */
  maxFilePieceBytes: 256 * 1024,
  /** Calls of one run that read or write files or read bodies; they do not count against `maxCalls`. */
  maxFileCalls: 50_000,
} as const;

/** Levels of the envelope round a value: the message and its `params`. */
export const ENVELOPE_DEPTH = 2;

/** How much a run may send over its channel, and how often. */
export interface SessionLimits {
  maxConcurrentCalls: number;
  maxCalls: number;
  maxMessageBytes: number;
  maxEndBytes: number;
  maxTotalBytes: number;
  /** Bytes handed to `events` of each stream; what goes beyond is dropped after its first byte. */
  maxStdoutBytes: number;
  maxStderrBytes: number;
}

/** The limits of a session where nothing is configured. */
export const DEFAULT_SESSION_LIMITS: SessionLimits = {
  maxConcurrentCalls: 32,
  maxCalls: 10_000,
  maxMessageBytes: PROTOCOL_LIMITS.maxMessageBytes,
  maxEndBytes: PROTOCOL_LIMITS.maxEndBytes,
  maxTotalBytes: PROTOCOL_LIMITS.maxTotalBytes,
  maxStdoutBytes: 1024 * 1024,
  maxStderrBytes: 1024 * 1024,
};

/** How the realm is set up; the same for the process child and for an isolate. */
export interface StartParams {
  /**
   * JavaScript: an expression that evaluates to an async function, which is given `module(specifier)` of
   * runner/child/realm/imports.ts. ASCII or UTF-16 as it is.
   */
  code: string;
  /** Source map `mappings` (VLQ) from `code` to the submitted source, for stacks. */
  mappings: string;
  process: { id: number; ref: string | null };
  /** JSON data: what the script finds as `cyrnel.input`. Absent: none. */
  input?: unknown;
  /** In its place, where integers of it are bigints: JSON text, in which other numbers as large have a fraction. */
  exactInput?: string;
  /** 32 random bytes, base64: seed of `crypto.getRandomValues`. */
  seed: string;
  /** Four integers from 0 to 2^32-1, not all zero: seed of `Math.random`. */
  randomSeed: number[];
  /** The script names a clock beside `Date` and `performance`: `Temporal`, or formats that default to the time it is. */
  readsWideClocks: boolean;
  /** The workspace as the script finds it; absent without files. Sizes in bytes. */
  files?: { name: string; size: number; contentType: string }[];
  /** Digests of the packages it imports: each follows in a frame of its own (`encodePackage` of frames.ts), in this order. */
  packages?: string[];
  /** No run: it evaluates one package, and answers the code cache of it. */
  makesCodeCache?: true;
  /** What the run did before: it does the same again, then goes on. */
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

/** What a reply may carry about a failure on the host: never a stack. */
export interface WireError {
  name: string;
  message: string;
  code?: string;
  status?: number;
  /** Further members of the script's error, such as the headers and body of an HTTP answer. */
  data?: Record<string, unknown>;
}

/** Host to child. `start` comes exactly once, after `ready`; replies follow calls; `paused` of the child follows `pause`. */
export type HostMessage =
  | { jsonrpc: "2.0"; method: "start"; params: StartParams }
  /** At the end of its turn the script is frozen until `resume`. `waiting`: the child is to send `waiting`. */
  | { jsonrpc: "2.0"; method: "pause" | "resume" | "waiting" }
  /** With `exact`, integers beyond the safe range are bigints; other numbers of that size have a fraction. */
  | { jsonrpc: "2.0"; id: number; result: unknown; exact?: true }
  | { jsonrpc: "2.0"; id: number; error: { code: number; message: string; data: WireError } };

/** What makes a run repeatable, besides its seeds and the replies to its calls. */
export const journalSchema = z.strictObject({
  /** What reached the script, in order: the id of a call that was replied to, or minus the id of a timer. */
  events: z.array(z.int()).max(50_000),
  /** Of the clock, in milliseconds since 1970. */
  readings: z.array(z.number()).max(100_000),
});
export type Journal = z.infer<typeof journalSchema>;

/** Methods whose calls carry what is in files: the log of calls keeps neither what they carry nor their replies. */
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

/** Taken as it is: a zod record would leave out a member called `__proto__`, and copy. */
const jsonObject = z.custom<Record<string, unknown>>(isJsonObject, "expected an object");

/** Calls a script can make of its host, by method: the parameters of each. */
export const callParamsSchemas = {
  /**
   * With `saveAs` it answers `{answer, size}`: bytes of the file, null where the tool saved nothing. A request of `fetch` has the
   * serviceId `fetch` and an empty toolId.
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
  /** Answers `{bytes}` and attaches so many; with `asText` `{text, bytes}`: whole characters of UTF-8, how many bytes they are. */
  readFile: z.strictObject({
    name: fileName,
    offset: z.int().min(0),
    length: z.int().min(1).max(PROTOCOL_LIMITS.maxFilePieceBytes),
    asText: z.literal(true).optional(),
  }),
  /**
   * Pieces of one write have its number, counted by the child; the last one has no `more`, and with `discard` none of them counts.
   * What is written is attached, or it is `text`, or nothing. Answers `{size}`.
   */
  writeFile: z.strictObject({
    name: fileName,
    write: z.int().min(1),
    mode: z.enum(["replace", "append", "patch", "discard"]),
    /** With `patch`: where in the file. */
    at: z.int().min(0).optional(),
    more: z.literal(true).optional(),
    text: z.string().optional(),
  }),
  removeFile: z.strictObject({ name: fileName }),
  /** Answers `{size}`, as `resizeFile`. */
  copyFile: z.strictObject({ name: fileName, to: fileName, moves: z.literal(true).optional() }),
  resizeFile: z.strictObject({ name: fileName, size: z.int().min(0) }),
  /** `call`: an \`invoke\` whose answer has a body that streams. Answers \`{base64}\`, the next piece, or null at its end. \`cancel\` of the call closes it. */
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

/** The first message of a child: its locks are on, and what the host verifies from outside is there to be seen. */
export const bootedParamsSchema = z.strictObject({
  protocol: z.int(),
  node: z.string().max(50),
  /** What the kernel answered to what the child was told to try, in that order. */
  answers: z.strictObject({ birth: attackAnswers, locked: attackAnswers }).optional(),
});
export type BootedParams = z.infer<typeof bootedParamsSchema>;

/** The second: what the child made for its script, which it can be given now. */
export const readyParamsSchema = z.strictObject({
  /** Layers of docs/security the child says it obtained by itself, by number. */
  layers: z.array(z.int().min(0).max(8)).max(9),
  /** Whether the realm's code cache was accepted; false only costs time. */
  codeCache: z.boolean(),
  /** Forked from a zygote: its V8 has other flags than one that was booted, and takes other code caches. */
  isFork: z.literal(true).optional(),
});
export type ReadyParams = z.infer<typeof readyParamsSchema>;

const scriptErrorSchema = z.strictObject({
  name: z.string().max(1000),
  message: z.string().max(100_000),
  stack: z.string().max(100_000),
  line: z.int().positive().optional(),
  column: z.int().positive().optional(),
  /** Of the source file in the workspace; absent for the submitted one. */
  file: z.string().max(255).optional(),
});

/** How a script ended, as the realm saw it. `result` is absent when the script returned nothing. */
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
  /** Of the package. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  data: z.string(),
});
export type CodeCacheParams = z.infer<typeof codeCacheParamsSchema>;

const waitingParamsSchema = z.strictObject({
  calls: z
    .array(
      z.strictObject({
        /** 0: a timer. */
        id: z.int().min(0).max(1_000_000_000),
        line: z.int().positive(),
        file: z.string().max(255).optional(),
      }),
    )
    .max(4),
});
export type WaitingParams = z.infer<typeof waitingParamsSchema>;

/** Child to host. */
export const childMessageSchema = z.union([
  z.discriminatedUnion("method", [
    notification("booted", bootedParamsSchema),
    notification("ready", readyParamsSchema),
    /** `level`: what the line was printed with, where that is not what the stream is for. */
    notification("stdout", text.extend({ level: z.literal("debug").optional() })),
    notification("stderr", text.extend({ level: z.literal("warn").optional() })),
    /** Before the end of what makes one: base64. */
    notification("codeCache", codeCacheParamsSchema),
    notification("output", z.strictObject({ value: jsonObject })),
    notification("warning", runWarningSchema.strict()),
    /** Before `end`: the number of warnings beyond those sent. */
    notification("warningsDropped", z.strictObject({ count: z.int().positive() })),
    notification("end", endParamsSchema),
    /** The script is frozen. `journal` is null for a run that cannot be repeated. */
    notification("paused", z.strictObject({ journal: journalSchema.nullable() })),
    /** A repeated script has come to where it was, and goes on. */
    notification("live", z.strictObject({})),
    /** A repeated script does something else than before: `what` completes "the script …". */
    notification("diverged", z.strictObject({ what: z.string().min(1).max(1000) })),
    /** Answers `waiting`: the calls that the script waits for longest, and where it made them. */
    notification("waiting", waitingParamsSchema),
    /** The script has aborted this call; its reply comes nevertheless, and may have been sent already. The id of the next call: that call is recorded and not made. */
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
