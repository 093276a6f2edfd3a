import { z } from "zod";
import {
  type JSONSchema,
  type Module,
  type ModuleSetupContext,
  type RunWarning,
  TOOL_ID_PATTERN,
} from "./module.ts";

/** Content of a file in a run's workspace. */
export interface FileContent {
  /** In bytes. */
  size: number;
  /** Follows from the extension of its name, or is the uploaded type. */
  contentType: string;
  /** Yields the content from its beginning, at each call. */
  stream(): AsyncIterable<Uint8Array>;
}

/** The files of a run as they were when the script made a call, however long the call waits for approval. */
export interface CallFiles {
  /** Rejects with code `file_not_found`. */
  open(name: string): Promise<FileContent>;
}

/** Given to the script instead of an answer that was saved as a file. */
export interface SavedFile {
  file: string;
  /** In bytes. */
  size: number;
  /** Media type named by the sender. Untrusted, like the content. */
  contentType: string;
}

/**
 * Gives the script an answer before its body has arrived. Returns null if the run has too many bodies open. The
 * returned function passes the answer on, whose `body` is `{stream: true}`, and resolves once the body has arrived or
 * the script wants no more of it; it rejects if `bytes` does.
 */
export type OpenStream = () => ((answer: unknown, bytes: AsyncIterable<Uint8Array>) => Promise<void>) | null;

/** One tool call as an adapter or a binding sees it. `eid` and `signal` are set by the host. */
export interface InvokeInput {
  serviceId: string;
  toolId: string;
  parameters: Record<string, unknown>;
  /**
   * Process that makes the call; absent for a direct call over HTTP. An environment may leave it out while only one
   * run can be meant; otherwise the call fails with the code `eid_missing`.
   */
  eid?: number;
  /** Aborts on kill, at the run's timeout, at the call's own limit and at shutdown. */
  signal?: AbortSignal;
  /** Sent by an environment: number of the call within the execution, from 1. A replay uses the same numbers. */
  seq?: number;
  /**
   * Set by the host. Adds a warning to the calling run, for an answer that is usable although it is not as promised.
   * The host removes secrets from the message and bounds it. Does nothing for a direct call.
   */
  warn?(warning: Pick<RunWarning, "code" | "message" | "path">): void;
  /** Set by the host: files that `parameters` may name. Absent without a script. */
  files?: CallFiles;
  /**
   * Set by the host for an adapter with `savesAnswers`, if the script wants the body of the answer as a file. The
   * content becomes that file once all of it has arrived. Rejects when the call is over, or when the run may not write
   * as much.
   */
  save?(contentType: string, bytes: AsyncIterable<Uint8Array>): Promise<SavedFile>;
  /**
   * Set for requests of `fetch`: the script reads the body while it arrives. The host bounds each wait for a piece.
   * The later result of `invoke` goes into the records of the call.
   */
  openStream?: OpenStream;
  /** Set by the host. Reports the HTTP status of the service's answer, for the records of the call. */
  onAnswered?(httpStatus: number): void;
}

const jsonSchema = z.record(z.string(), z.unknown());

/** Requests that a tool makes for the `fetch` of a script. */
export const fetchScopeSchema = z.object({
  /** Origins in URL notation: `https://api.example.com`, `http://10.0.0.7:8080`. */
  origins: z.array(z.string()).min(1),
  /** Beginning of paths: `/v1` matches `/v1` and everything below, `/v1/` only what is below; `/` matches any path. */
  pathPrefix: z.string(),
  /** In capitals. */
  methods: z.array(z.string()).min(1),
});
export type FetchScope = z.infer<typeof fetchScopeSchema>;

/**
 * Keyword of an output schema. It holds the schema of the additional members of a failed call's error, such as
 * `{status, body}`. Its references are those of the output schema.
 */
export const FAILURES = "x-failures";

export const toolDefinitionSchema = z.object({
  /** `list`, or `issues.list` if the definition groups its tools: scripts call `tools.<service>.issues.list(…)`. */
  id: z
    .string()
    .regex(
      TOOL_ID_PATTERN,
      "expected an identifier, or up to 8 joined by dots: letters, digits, _ and $, none starting with a digit",
    ),
  name: z.string(),
  description: z.string(),
  inputSchema: jsonSchema,
  outputSchema: jsonSchema,
  /** The adapter's own data about the tool. It is stored in plain text and never inspected by the host. */
  adapterDomain: z.unknown(),
  destructive: z.boolean().optional(),
  /**
   * A script's `fetch(url, init)` becomes a call of this tool if the request matches it, and no other tool. The
   * parameters are then `{url, method, headers, body?, redirect?}`; see modules/http.
   */
  fetch: fetchScopeSchema.optional(),
});
export type ToolDefinition = z.infer<typeof toolDefinitionSchema>;

export const serviceDefinitionSchema = z.object({
  name: z.string(),
  description: z.string(),
  configSchema: jsonSchema,
  secretsSchema: jsonSchema,
  tools: z.array(toolDefinitionSchema),
  /**
   * Parts of the definition that could not be read and were left out, with the reason, one sentence each. The host
   * shows the first 50.
   */
  problems: z.array(z.string()).optional(),
  adapterDomain: z.unknown(),
});
export type ServiceDefinition = z.infer<typeof serviceDefinitionSchema>;

/** A service as an adapter holds it between `hydrateService` and `dehydrateService`. */
export interface ServiceState {
  id: string;
  adapterDomain: unknown;
  tools: Record<string, { adapterDomain: unknown }>;
  config: Record<string, unknown>;
  secrets: Record<string, unknown>;
}

export interface AdapterSetupContext extends ModuleSetupContext {
  /** True if services may start programs on the host (`CYRNEL_ALLOW_STDIO_MCP`). Default: false. */
  allowStdio?: boolean;
  /**
   * Reports a secret that the adapter has obtained at run time, such as an access token, before its first use. The
   * host removes it from results, output, logs and errors like stored secrets (the last 256 characters of a longer
   * one), and keeps the latest 16 of a module. Throws TypeError for a value that is not a string.
   */
  keepSecret?(value: string): void;
}

/**
 * Settings of a service whose definition is regenerated, for adapters that query its server; absent at the first
 * install.
 */
export interface DefinitionContext {
  config: Record<string, unknown>;
  secrets: Record<string, unknown>;
  /**
   * The service has secrets, but this definition would send them elsewhere than they were set for: `secrets` is empty.
   */
  secretsWithheld?: true;
  /** Its tools by id. Rules and roles name ids, so a tool should keep its id. */
  tools?: ServiceState["tools"];
}

/** Address a definition was downloaded from. */
export interface DefinitionSource {
  /** After redirects, without fragment and credentials. */
  url: string;
  /**
   * Downloads another text of the same origin by its full URL, without redirects, bounded in number, bytes and time.
   * Rejects with a readable message.
   */
  read(url: string): Promise<string>;
}

/**
 * The parts of a service that decide where its secrets go: a hydrated service, or the definition that
 * `generateDefinition` is about to get. Config has its defaults filled in.
 */
export type SecretUse =
  | Pick<ServiceState, "adapterDomain" | "tools" | "config">
  | { definition: string; config: Record<string, unknown> };

/** A place that secrets are sent to: for any of them, or for a single secret. */
export type SecretDestination =
  /** The origin of a URL (`https://api.example.com`), or a text that identifies a program. */
  | string
  | {
      /** An origin with its owner: `https://api.example.com (rule read)`. Unique for each secret. */
      place: string;
      /** Name of the secret that goes there. */
      secret: string;
      /** The place in the notation of an older version of the adapter, without its owner. */
      formerly?: string;
    };

export interface AdapterModule extends Module {
  setup(context: AdapterSetupContext): Promise<void>;
  /** Pure. If it throws, the install is refused with that message. */
  generateDefinition(input: string, context?: DefinitionContext): Promise<ServiceDefinition>;
  /**
   * Optional. Makes a downloaded definition independent of its source. The host stores the result and gives it to
   * `generateDefinition` instead. Not called for a definition that came with the request.
   */
  bundleDefinition?(input: string, source: DefinitionSource): Promise<string>;
  /** Replaces the earlier state of the service and never merges. If it throws, the change is rolled back. */
  hydrateService(state: ServiceState): Promise<void>;
  /** Idempotent. */
  dehydrateService(id: string): Promise<void>;
  /**
   * Throws on any failure, including HTTP status 400 and above. A script sees `name`, `message`, `code` and `status`
   * of the error, and the members of its `answer`, an object with the server's answer such as `{status, headers,
   * body}`. With `throwOnError: false` the script gets that object instead. `status` counts as the HTTP status of the
   * call. Quote a server's words in full: the host first removes secrets and then cuts, but cannot recognise half a
   * secret.
   */
  invoke(input: InvokeInput): Promise<unknown>;
  /**
   * Optional. True if `invoke` uses `save`. Otherwise the host saves the result of `invoke`: a text as it is, anything
   * else as JSON.
   */
  readonly savesAnswers?: boolean;
  /**
   * Optional. Returns every destination that a secret of the service would be sent to, at most 2000. The host hands a
   * secret over only while each destination is one it was set for. Throw while settings that decide it are missing.
   * Without this member the host compares the whole definition and configuration, and asks for the secrets again after
   * any change by a caller who could not load modules.
   */
  secretOrigins?(use: SecretUse): SecretDestination[] | Promise<SecretDestination[]>;
}

export interface ServiceSummary {
  id: string;
  name: string;
  description: string;
}
export interface ServiceDetails extends ServiceSummary {
  tools: { id: string; name: string; description: string }[];
}
export interface ToolSummary {
  serviceId: string;
  id: string;
  /** `service.tool`, as a script writes it after `tools.`. */
  path?: string;
  name: string;
  description: string;
  /** Search score; 0 for a similar name when nothing matched. */
  score?: number;
  /** TypeScript type on one line, for search results. */
  signature?: string;
}
/** An npm package that a script may import. */
export interface PackageSummary {
  name: string;
  version: string;
  description: string;
}
/** Matching tools and packages of a search. */
export type FoundTools = ToolSummary[] & { packages?: PackageSummary[] };
export interface ToolDetails extends ToolSummary {
  inputSchema: JSONSchema;
  outputSchema: JSONSchema;
  destructive?: boolean;
}
export interface DiscoverServices {
  query?: string;
  limit?: number;
}
export interface DiscoverTools {
  query?: string;
  serviceId?: string;
  limit?: number;
}
