/** A server with a modules folder of its own, a place to download from, and a module that records what is done to it. */
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import type { ModuleRecord } from "#api/components/modules/model.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { startServer, type TestServer } from "../harness/server.ts";
import { builtin } from "../modules-server.ts";
import { ScriptedEnvironment } from "../scripted-environment.ts";
import { makePackage, moduleEntries, type PackEntry } from "./packs.ts";

const SECRETS_KEY = randomBytes(32).toString("base64");

export interface ModulesBench extends AsyncDisposable {
  /** `$CYRNEL_DATA_DIR/modules`. */
  directory: string;
  server: TestServer;
  /** Starts it again on the same database and folder. */
  restart(): Promise<void>;
  /** Without starting it again. */
  stop(): Promise<void>;
  /** Serves bytes (or JSON) at a path; answers the URL. */
  serve(name: string, content: Buffer | object): string;
  /** Writes files of a module folder. */
  place(folder: string, entries: readonly PackEntry[]): Promise<void>;
  module(id: string): Promise<ModuleRecord>;
  enable(id: string, enabled?: boolean): ReturnType<TestServer["post"]>;
}

export interface ModulesBenchOptions {
  builtins?: readonly BuiltinModule[];
  environment?: Record<string, string>;
  /** Before the server starts. */
  prepare?(directory: string): Promise<void>;
}

export async function openModulesBench(options: ModulesBenchOptions = {}): Promise<ModulesBench> {
  await using undo = new AsyncDisposableStack();
  const data = await mkdtemp(path.join(tmpdir(), "cyrnel-modules-"));
  undo.defer(() => rm(data, { recursive: true, force: true }));
  const directory = path.join(data, "modules");
  const database = undo.adopt(await createTestDatabase({ maxConnections: 10 }), (made: TestDatabase) =>
    made.drop(),
  );
  const files = new Map<string, Buffer>();
  const web = createServer((request, response) => {
    const body = files.get(request.url ?? "");
    response.writeHead(body === undefined ? 404 : 200).end(body);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => web.once("listening", resolve));
  undo.defer(() => {
    web.closeAllConnections();
    web.close();
  });
  const origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  await options.prepare?.(directory);

  const start = () =>
    startServer({
      database,
      builtins: options.builtins ?? [builtin({ id: "typescript-process" }, () => new ScriptedEnvironment())],
      environment: {
        CYRNEL_DATA_DIR: data,
        CYRNEL_EGRESS_ALLOW: "127.0.0.1",
        CYRNEL_SECRETS_KEY: SECRETS_KEY,
        ...options.environment,
      },
    });
  let server = await start();
  undo.defer(() => server.stop());
  const resources = undo.move();
  return {
    directory,
    get server() {
      return server;
    },
    async restart() {
      await server.stop();
      server = await start();
    },
    stop: () => server.stop(),
    serve(name, content) {
      files.set(`/${name}`, Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content)));
      return `${origin}/${name}`;
    },
    place: (folder, entries) => placeFiles(path.join(directory, folder), entries),
    module: async (id) => (await server.get(`/modules/${id}`)).body as ModuleRecord,
    enable: (id, enabled = true) => server.post(`/modules/${id}/enabled`, { enabled }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

export async function placeFiles(folder: string, entries: readonly PackEntry[]): Promise<void> {
  for (const { name, data = "" } of entries) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, data);
  }
}

/**
 * The code of an adapter. `version` is what its tools answer and are called; `body` may change the members of `adapter`
 * before it is handed out. What happens is in `globalThis.customModuleEvents`.
 */
export function adapterCode(version: string, body = ""): string {
  return `
    import { version } from "./version.mjs";
    const events = (globalThis.customModuleEvents ??= []);
    events.push("import " + version);
    export function instantiate() {
      const services = new Map();
      const adapter = {
        async setup(context) { adapter.context = context; events.push("setup " + version); },
        async teardown() { events.push("teardown " + version); },
        async generateDefinition(input) {
          if (input.includes("refuse " + version)) throw new Error("not for " + version);
          const tool = (id) => ({ id, name: id, description: "", inputSchema: { type: "object" }, outputSchema: {}, adapterDomain: version });
          return { name: "N", description: version, configSchema: {type:"object"}, secretsSchema: {type:"object"}, tools: [tool("ask"), tool("only_" + version)], adapterDomain: version };
        },
        async hydrateService(state) { services.set(state.id, state); events.push("hydrate " + version + " " + state.id + " " + state.adapterDomain); },
        async dehydrateService(id) { services.delete(id); },
        async invoke({ serviceId, toolId }) { return { version, made: services.get(serviceId).tools[toolId].adapterDomain }; },
      };
      ${body}
      return adapter;
    }
    // ${version}
  `;
}

export function adapterEntries(
  id: string,
  version: string,
  options: { body?: string; manifest?: Record<string, unknown> } = {},
): PackEntry[] {
  return moduleEntries({ id, version, ...options.manifest }, adapterCode(version, options.body), [
    { name: "version.mjs", data: `export const version = ${JSON.stringify(version)};` },
  ]);
}

export function adapterPackage(...parameters: Parameters<typeof adapterEntries>): Promise<Buffer> {
  return makePackage(adapterEntries(...parameters));
}

/** What modules have recorded since the last call. */
export function takeEvents(): string[] {
  const holder = globalThis as { customModuleEvents?: string[] };
  return holder.customModuleEvents?.splice(0) ?? [];
}
