import { buffer } from "node:stream/consumers";
import type { z } from "zod";
import { createProcessBodySchema } from "#api/processes/model/schemas.ts";
import { renderCalls, renderRecord } from "#api/processes/operations/render.ts";
import { approveBodySchema, denyBodySchema } from "./approvals/model.ts";
import { isOwnRequest, toDecider } from "./approvals/records.ts";
import type { Approvals } from "./approvals/service.ts";
import type { AuditEntry, AuditLog } from "./audit/log.ts";
import type { Config } from "./config.ts";
import { AppError } from "./errors.ts";
import type { Files } from "./files/service.ts";
import type { Caller, KeyVerifier } from "./http/auth.ts";
import { describeError } from "./http/error-handler.ts";
import type { ApprovalsPort, McpPorts, ProcessesPort, RequestContext, Script } from "./mcp/ports.ts";
import { type LevelSlice, sliceLevel } from "./processes/live/streams.ts";
import type { ProcessView } from "./processes/model/records.ts";
import type { ProcessService } from "./processes/service.ts";
import type { Redactor } from "./secrets/redactor.ts";
import type { Tools } from "./tools/service.ts";

/** Maximum time for which a response waits for its audit record. */
const MAX_RECORD_MS = 3000;

export interface McpPortsOptions {
  config: Pick<Config, "maxCodeSizeBytes" | "allowSelfApproval">;
  processes: ProcessService;
  files: Pick<Files, "openArtifact">;
  tools: Tools;
  packages: McpPorts["packages"];
  approvals: Approvals;
  readDocs: McpPorts["readDocs"];
  keys: Pick<KeyVerifier, "find">;
  audit: AuditLog;
  redactor: Pick<Redactor, "text">;
  log: McpPorts["log"];
}

export function createMcpPorts(options: McpPortsOptions): McpPorts {
  const { config, tools, approvals, keys, audit, redactor, log } = options;
  return {
    processes: createProcessesPort(options),
    tools,
    packages: options.packages,
    approvals: createApprovalsPort(approvals, audit),
    isSelfApproval: (approval, { id }) => !config.allowSelfApproval && isOwnRequest(approval, id),
    readDocs: options.readDocs,
    isLive: ({ keyId }) => keyId === undefined || keys.find(keyId) !== null,
    describeError(error) {
      const { status, code, message, issues } = describeError(error);
      return {
        status,
        code,
        message: redactor.text(message),
        ...(issues && {
          issues: issues.map(({ path, message: text }) => ({
            // MCP has no body, so the path uses argument names.
            path: redactor.text(path.replace(/^body\./, "")),
            message: redactor.text(text),
          })),
        }),
      };
    },
    log,
  };
}

function createProcessesPort({ config, processes, files, audit }: McpPortsOptions): ProcessesPort {
  const bodySchema = createProcessBodySchema(config.maxCodeSizeBytes);
  const never = new AbortController().signal;
  return {
    async submit(script, context) {
      const { caller } = context;
      const sent = toBody(script);
      const parameters = {
        ...sent,
        ...("input" in sent && { input: COVERED }),
        ...("files" in sent && { files: COVERED }),
      };
      const entry = { action: "process.create", object: { kind: "process", id: null }, parameters };
      return recorded(audit, context, entry, async () => {
        const { id } = await processes.create({
          body: read(bodySchema, sent),
          creator: { kind: caller.kind, keyId: caller.keyId ?? null },
          seesAll: caller.scopes.has("processes:all"),
          idempotency: null,
          signal: context.signal,
        });
        return { value: id, objectId: String(id) };
      });
    },
    requireVisible: (id, { caller }) => processes.requireVisible(id, caller),
    async wait(id, waitMs, { caller, signal }) {
      await processes.requireVisible(id, caller);
      const { row } = await processes.get(id, waitMs, signal);
      return { state: row.state, approvals: row.approvals };
    },
    async read(id, { caller }) {
      await processes.requireVisible(id, caller);
      const view = await processes.get(id, 0, never);
      const slices = { stdout: listSlices(view, "stdout"), stderr: listSlices(view, "stderr") };
      return { ...JSON.parse(renderRecord(view)), slices };
    },
    async readCalls(id, { caller }) {
      await processes.requireVisible(id, caller);
      return JSON.parse(renderCalls(await processes.getCalls(id))).calls;
    },
    async readArtifact(id, name, maxBytes, { caller }) {
      await processes.requireVisible(id, caller);
      const { contentType, content } = await files.openArtifact(id, name);
      const { size } = content;
      const bytes = size > maxBytes ? null : await buffer(content.stream(0, size));
      return { size, contentType, bytes };
    },
  };
}

function toBody({ script, timeoutMs, ref, input, files, name }: Script): Record<string, unknown> {
  return {
    code: script,
    ...(input !== undefined && { input }),
    ...(files !== undefined && { files }),
    ...(name !== undefined && { name }),
    ...(ref !== undefined && { ref }),
    ...(timeoutMs !== undefined && { options: { timeout: timeoutMs } }),
  };
}

/** Like the audit records of HTTP requests, hides the confidential data that clients pass to scripts. */
const COVERED = "[redacted]";

/** Argument names that differ from HTTP bodies. */
const ARGUMENT_NAMES: Readonly<Record<string, string>> = {
  code: "script",
  "options.timeout": "timeoutMs",
  reason: "data",
};

/** Validates with the schema of the HTTP route. Throws invalid_request. */
function read<S extends z.ZodType>(schema: S, sent: unknown): z.output<S> {
  const parsed = schema.safeParse(sent);
  if (!parsed.success) throw describeInvalid(parsed.error);
  return parsed.data;
}

function describeInvalid(error: z.ZodError): AppError {
  const issues = error.issues.map(({ path, message }) => {
    const name = path.map(String).join(".");
    return { path: ARGUMENT_NAMES[name] ?? name, message };
  });
  const [first] = issues;
  return new AppError("invalid_request", `The arguments are not valid: ${first?.path}: ${first?.message}`, {
    issues,
  });
}

function createApprovalsPort(approvals: Approvals, audit: AuditLog): ApprovalsPort {
  return {
    get: (id, { caller }) => approvals.get(id, toDecider(caller)),
    decide: (id, decision, context) => {
      const { approved, ...parameters } = decision;
      const action = approved ? "approval.approve" : "approval.deny";
      const entry = { action, object: { kind: "approval", id }, parameters };
      return recorded(audit, context, entry, async () => {
        const decider = toDecider(context.caller);
        const value = approved
          ? await approvals.approve(id, read(approveBodySchema, parameters), decider)
          : await approvals.deny(id, read(denyBodySchema, parameters), decider);
        return { value, objectId: id };
      });
    },
  };
}

function listSlices({ results }: ProcessView, stream: "stdout" | "stderr"): LevelSlice[] {
  const bytes = results[stream];
  const slices: LevelSlice[] = [];
  for (let at = 0; ; ) {
    const slice = sliceLevel(bytes, results.levels?.[stream] ?? [], at, bytes.length);
    if (slice === null) return slices;
    slices.push(slice);
    at = slice.end;
  }
}

/** Denying must not fail because its audit record cannot be stored. */
const ALWAYS_ADMITTED = "approval.deny";
/** The process row names its key, so the response does not wait for the audit record. */
const NOT_AWAITED = "process.create";

async function recorded<T>(
  audit: AuditLog,
  { caller, requestId }: RequestContext,
  entry: Pick<AuditEntry, "action" | "parameters"> & { object: { kind: string; id: string | null } },
  work: () => Promise<{ value: T; objectId: string }>,
): Promise<T> {
  if (entry.action !== ALWAYS_ADMITTED) await audit.admit();
  const shared = { ...entry, actor: actorOf(caller), requestId };
  try {
    const { value, objectId } = await work();
    const done = { ...shared, object: { ...entry.object, id: objectId }, outcome: "ok" as const };
    if (entry.action === NOT_AWAITED) audit.record(done);
    else await audit.recordStored(done, MAX_RECORD_MS);
    return value;
  } catch (error) {
    const { status, code } = describeError(error);
    audit.record({ ...shared, outcome: status >= 500 ? "failed" : "refused", code });
    throw error;
  }
}

function actorOf({ kind, keyId, name }: Caller): AuditEntry["actor"] {
  return { kind, id: keyId, name };
}
