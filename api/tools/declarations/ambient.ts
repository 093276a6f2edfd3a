/** Declarations of `cyrnel`, `tools`, their return types, and the other globals of a script. Pure. */
import { REALM_GLOBALS } from "./globals.ts";

export interface DeclaredService {
  id: string;
  /** Namespace with the service's types, or null if they were not written and any tool may be called in any way. */
  namespace: string | null;
}

export function namespaceOf(serviceId: string): string {
  return `CyrnelService_${serviceId}`;
}

/** `withGlobals` adds the globals besides `cyrnel` and `tools`. */
export function printAmbient(services: readonly DeclaredService[], withGlobals: boolean): string {
  const members = services.map(({ id, namespace }) => ({
    id,
    type: namespace === null ? "CyrnelUntypedTools" : `${namespace}.Tools`,
    callable: namespace === null ? "CyrnelUntypedTools" : `CyrnelCallable<${namespace}.Tools>`,
  }));
  return printMembers(members) + (withGlobals ? `\n${REALM_GLOBALS}` : "");
}

/** Declarations for no particular server: every tool of every service may be called in any way. */
export function printOpenAmbient(): string {
  const any = { id: "[service: string]", type: "CyrnelUntypedTools", callable: "CyrnelUntypedTools" };
  return `${printMembers([any])}\n${REALM_GLOBALS}`;
}

function printMembers(members: readonly { id: string; type: string; callable: string }[]): string {
  return [
    HEAD,
    "interface CyrnelServices {",
    ...members.map(({ id, type }) => `  readonly ${id}: { readonly tools: CyrnelInvocable<${type}> };`),
    "}",
    "",
    "interface CyrnelTools {",
    ...members.map(({ id, callable }) => `  readonly ${id}: ${callable};`),
    "}",
    "",
    CYRNEL_AND_TOOLS,
    "",
  ].join("\n");
}

const HEAD = `// What a script calls: the tools of installed services, and cyrnel. Made from their definitions.

interface CyrnelServiceSummary {
  id: string;
  name: string;
  description: string;
}
interface CyrnelToolSummary {
  serviceId: string;
  id: string;
  /** \`service.tool\`. */
  path: string;
  name: string;
  description: string;
  score?: number;
}
/** \`packages\`: npm packages that fit and can be imported. */
type CyrnelFoundTools = CyrnelToolSummary[] & {
  readonly packages: { name: string; version: string; description: string }[];
};
interface CyrnelToolDetails extends CyrnelToolSummary {
  destructive: boolean;
  inputSchema: Record<string, unknown>;
  outputSchema: Record<string, unknown>;
}
interface CyrnelUntypedTools {
  [tool: string]: CyrnelUntypedTools &
    ((parameters?: Record<string, unknown>, options?: Partial<CyrnelSaving & CyrnelAnswering>) => Promise<unknown>);
}
/** The answer becomes this file of the workspace. */
interface CyrnelSaving {
  saveAs: string;
}
/** An answer that says it failed, such as HTTP 404, is given like any other. */
interface CyrnelAnswering {
  throwOnError: false;
}
/** In place of what was saved; \`size\` in bytes, \`contentType\` as its sender says. */
interface CyrnelSavedFile {
  file: string;
  size: number;
  contentType: string;
}
/** The file stands in place of the answer, or of its \`body\` where it has one. */
type CyrnelSaved<Answer> = Answer extends { body?: unknown }
  ? Omit<Answer, "body"> & { body: CyrnelSavedFile }
  : CyrnelSavedFile;
type CyrnelCallable<Tools> = {
  readonly [Tool in keyof Tools]: Tools[Tool] &
    CyrnelCallable<Tools[Tool]> &
    (Tools[Tool] extends (parameters: infer Parameters) => Promise<infer Answer>
      ? ((parameters: Parameters, options: CyrnelSaving) => Promise<CyrnelSaved<Answer>>) &
          ((parameters: Parameters, options: CyrnelAnswering & Partial<CyrnelSaving>) => Promise<any>)
      : unknown);
};
/** A file of the workspace; \`size\` in bytes. */
interface CyrnelFile {
  readonly name: string;
  readonly size: number;
  readonly contentType: string;
}
interface CyrnelFiles {
  read(name: string, range?: { offset?: number; length?: number }): Promise<Uint8Array>;
  text(name: string): Promise<string>;
  json(name: string): Promise<any>;
  lines(name: string): AsyncGenerator<string, void, void>;
  list(prefix?: string): Promise<CyrnelFile[]>;
  stat(name: string): Promise<CyrnelFile>;
  exists(name: string): Promise<boolean>;
  /** Text, bytes and a Blob as they are, streams and other async iterables piece by piece, anything else as JSON. */
  write(name: string, data: unknown): Promise<CyrnelFile>;
  append(name: string, data: unknown): Promise<CyrnelFile>;
  remove(name: string): Promise<void>;
}
type CyrnelInvocable<Tools> = {
  readonly [Tool in keyof Tools]: CyrnelInvocable<Tools[Tool]> &
    (Tools[Tool] extends (parameters: never) => unknown ? { readonly invoke: CyrnelCallable<Tools>[Tool] } : unknown);
};
`;

const CYRNEL_AND_TOOLS = `declare const cyrnel: {
  /** \`cyrnel.services.<service>.tools.<tool>.invoke(parameters)\`. */
  readonly services: CyrnelServices;
  /** Merges \`value\` into the output of the process; later keys win. */
  output(value: object): void;
  discoverServices(query?: { query?: string; limit?: number }): Promise<CyrnelServiceSummary[]>;
  discoverTools(query?: { query?: string; serviceId?: string; limit?: number }): Promise<CyrnelFoundTools>;
  getService(
    id: string,
  ): Promise<CyrnelServiceSummary & { tools: { id: string; name: string; description: string }[] }>;
  getTool(tool: { serviceId: string; toolId: string }): Promise<CyrnelToolDetails>;
  /** Markdown. */
  getToolDocs(tool: { serviceId: string; toolId: string }): Promise<string>;
  /** Asks a person; resolves with the answer. */
  ask(request: { message: string; schema?: object }): Promise<unknown>;
  readonly process: { readonly id: number; readonly ref: string | null };
  /** What the process was given as \`input\`: JSON data, frozen; undefined without one. */
  readonly input: CyrnelInput;
  /** The workspace: files the run was given, and those it writes, which become its artifacts. */
  readonly files: CyrnelFiles;
};
type CyrnelInput = any;

/** The same tools with less to write: \`tools.<service>.<tool>(parameters)\`. Cannot be enumerated. */
declare const tools: CyrnelTools & {
  search(query: string | { query?: string; serviceId?: string; limit?: number }): Promise<CyrnelFoundTools>;
  describe: { tool(tool: { path: string }): Promise<CyrnelToolDetails> };
};`;
