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
  /** Bytes. */
  size: number;
  /** Follows from the extension of its name, or is the uploaded type. */
  contentType: string;
  /** From its beginning, each time it is called. */
  stream(): AsyncIterable<Uint8Array>;
}

/** The files of a run as they were when the script made a call, however long the call waits for a person. */
export interface CallFiles {
  /** Rejects with code `file_not_found`. */
  open(name: string): Promise<FileContent>;
}

/** An answer that became a file: what the script gets in its place. */
export interface SavedFile {
  file: string;
  /** Bytes. */
  size: number;
  /** Media type named by the sender. Untrusted, like the content. */
  contentType: string;
}

/**
 * Lets the script have an answer before its body has come. Null: it has as many bodies open as it may. What it returns gives the answer,
 * whose \`body\` is \`{stream: true}\`, and resolves when the body has come or the script wants no more of it; it rejects as \`bytes\`.
 */
export type OpenStream = () => ((answer: unknown, bytes: AsyncIterable<Uint8Array>) => Promise<void>) | null;

/** One tool call as an adapter or a binding sees it. `eid` and `signal` are set by the host. */
export interface InvokeInput {
  serviceId: string;
  toolId: string;
  parameters: Record<string, unknown>;
  /**
   * The process on whose behalf the call is made; absent for a direct call over HTTP. An environment that leaves it out is
   * accepted while it is clear which run calls; else the call fails with the code `eid_missing`.
   */
  eid?: number;
  /** Aborts on kill, on the run's time-out, on the call's own limit and at shutdown. */
  signal?: AbortSignal;
  /** From an environment to the host: which of the execution's calls this is, counted from 1. The same when it is repeated. */
  seq?: number;
  /**
   * From the host: adds a warning to the run that calls, for an answer that is usable and yet not as promised. The host removes
   * secrets from the message and bounds it. Does nothing for a direct call over HTTP.
   */
  warn?(warning: Pick<RunWarning, "code" | "message" | "path">): void;
  /** From the host: files that `parameters` may name. Absent where no script calls. */
  files?: CallFiles;
  /**
   * From the host, to an adapter with `savesAnswers`: the script wants the body of the answer as a file. What is given becomes
   * that file when all of it has come; rejects when the call is over, or when the run may not write as much.
   */
  save?(contentType: string, bytes: AsyncIterable<Uint8Array>): Promise<SavedFile>;
  /**
   * For requests of \`fetch\`: the script reads the body while it comes. The host bounds each wait for a piece; what \`invoke\`
   * answers afterwards is for the records of the call.
   */
  openStream?: OpenStream;
  /** From the host: told the HTTP status of the service's answer, for the records of the call. */
  onAnswered?(httpStatus: number): void;
}

const jsonSchema = z.record(z.string(), z.unknown());

/** Requests that a tool makes for the `fetch` of a script. */
export const fetchScopeSchema = z.object({
  /** Origins in URL notation: `https://api.example.com`, `http://10.0.0.7:8080`. */
  origins: z.array(z.string()).min(1),
  /** `/`, or where paths begin: `/v1` is `/v1` and what is below it, `/v1/` only the latter. */
  pathPrefix: z.string(),
  /** In capitals. */
  methods: z.array(z.string()).min(1),
});
export type FetchScope = z.infer<typeof fetchScopeSchema>;

/**
 * Keyword of an output schema: the schema of what the error of a failed call has beside its message, such as `{status, body}`. Its
 * references are those of the output schema.
 */
export const FAILURES = "x-failures";

export const toolDefinitionSchema = z.object({
  /** `list`, or `issues.list` where the definition itself groups its tools: scripts call `tools.<service>.issues.list(…)`. */
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
  /** The adapter's own data about the tool: stored in plain text, never inspected by the host. */
  adapterDomain: z.unknown(),
  destructive: z.boolean().optional(),
  /**
   * `fetch(url, init)` of a script becomes a call of this tool where the request fits, and that of no other tool. Its parameters are
   * then `{url, method, headers, body?, redirect?}`; see modules/http.
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
   * Tells the host of a secret that the adapter has obtained at run time, such as an access token, before it is used: it is
   * removed from results, output, logs and errors as stored secrets are; of a longer one, its last 256 characters. The host
   * keeps the latest 16 of a module. Throws TypeError for a value that is not a string.
   */
  keepSecret?(value: string): void;
}

/** Settings of a service whose definition is regenerated, for adapters that ask its server; none at the first install. */
export interface DefinitionContext {
  config: Record<string, unknown>;
  secrets: Record<string, unknown>;
  /** There are secrets, but this definition would send them elsewhere than they were set for: `secrets` is empty. */
  secretsWithheld?: true;
  /** Its tools by their ids: policies and roles name ids, so that a tool should keep its own. */
  tools?: ServiceState["tools"];
}

/** Address a definition was downloaded from. */
export interface DefinitionSource {
  /** After redirects, without fragment and credentials. */
  url: string;
  /**
   * Downloads a text beside it, by its whole URL: of the same origin, without redirects, bounded in number, bytes and time.
   * Rejects with a sentence.
   */
  read(url: string): Promise<string>;
}

/**
 * A service as far as it decides where its secrets go: as it is hydrated, or with the definition that
 * `generateDefinition` is about to be given. Config has its defaults filled in.
 */
export type SecretUse =
  | Pick<ServiceState, "adapterDomain" | "tools" | "config">
  | { definition: string; config: Record<string, unknown> };

/** A place that secrets are sent to: for any of them, or for a single secret. */
export type SecretDestination =
  /** The origin of a URL (`https://api.example.com`), or for a program a text that identifies it. */
  | string
  | {
      /** An origin, and whose it is: `https://api.example.com (rule read)`. No two secrets may have the same. */
      place: string;
      /** The member of the secrets that goes there. */
      secret: string;
      /** The place as an older version of the adapter gave it, without whose it is. */
      formerly?: string;
    };

export interface AdapterModule extends Module {
  setup(context: AdapterSetupContext): Promise<void>;
  /** Pure. Throwing refuses the install with that message. */
  generateDefinition(input: string, context?: DefinitionContext): Promise<ServiceDefinition>;
  /**
   * Optional. Makes a definition that was downloaded independent of where it came from: what it gives is stored, and given to
   * `generateDefinition`, in its place. Not called for a definition that came with the request.
   */
  bundleDefinition?(input: string, source: DefinitionSource): Promise<string>;
  /** Replaces what was held for the service, never merges. Throwing rolls the change back. */
  hydrateService(state: ServiceState): Promise<void>;
  /** Idempotent. */
  dehydrateService(id: string): Promise<void>;
  /**
   * Throws on any failure, an HTTP status of 400 and above included. A script sees `name`, `message`, `code` and `status` of the
   * error, and the members of its `answer`, an object with what the server answered, such as `{status, headers, body}`: with
   * `throwOnError: false` the script gets that object instead. `status` counts as the HTTP status of the call. Put a server's words
   * into the message whole: the host takes secrets out and cuts it afterwards, while half a secret in a text that was cut before
   * is not recognised.
   */
  invoke(input: InvokeInput): Promise<unknown>;
  /**
   * Optional. `invoke` heeds `save`. For an adapter without this member the host saves what `invoke` answers: a text as it is,
   * anything else as JSON.
   */
  readonly savesAnswers?: boolean;
  /**
   * Optional. Every destination that a secret of the service would be sent to, 2000 at most. The host hands a secret over only
   * while each of its destinations is one of those that it was set for. Throw while settings are missing that decide it. For an
   * adapter without this member the host compares the whole definition and configuration, and asks for the secrets again after
   * any change of them by a caller who could not load modules.
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
  /** How well it fits what was searched for; 0: nothing was found, and this is one of the nearest. */
  score?: number;
  /** Its TypeScript type on one line, of a tool that was searched for. */
  signature?: string;
}
/** An npm package that a script may import. */
export interface PackageSummary {
  name: string;
  version: string;
  description: string;
}
/** Tools that fit what was searched for, and the packages that do. */
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
