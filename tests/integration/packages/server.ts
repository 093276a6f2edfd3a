/** A server whose packages come from a registry of the test. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import type { Installation } from "#api/packages/model.ts";
import type { TestDatabase } from "../harness/database.ts";
import { type Answer, startServer, type TestServer } from "../harness/server.ts";
import { until } from "../processes-server.ts";

export interface PackagesServer extends AsyncDisposable {
  server: TestServer;
  /** Asks for it and waits for the end. */
  install(name: string, more?: object): Promise<Installation>;
  run(code: string, more?: object): Promise<Answer["body"]>;
  get(path: string): Promise<Answer>;
}

export async function startPackagesServer(
  registryUrl: string,
  environment: Record<string, string> = {},
  {
    environmentId = "typescript-process",
    database,
  }: { environmentId?: string; database?: TestDatabase } = {},
): Promise<PackagesServer> {
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-packages-"));
  const server = await startServer({
    builtins: BUILTIN_MODULES.filter(({ type }) => type === "environment"),
    environment: {
      CYRNEL_DATA_DIR: folder,
      CYRNEL_NPM_REGISTRY: registryUrl,
      CYRNEL_EGRESS_ALLOW: "127.0.0.1",
      CYRNEL_PACKAGE_MIN_AGE_DAYS: "0",
      CYRNEL_PACKAGE_ADVISORIES: "off",
      ...environment,
    },
    ...(database && { database }),
  });
  if (environmentId !== "typescript-process")
    await server.post(`/modules/${environmentId}/enabled`, { enabled: true });
  return {
    server,
    async install(name, more = {}) {
      const asked = await server.post("/packages", { name, ...more });
      if (asked.status !== 202) throw new Error(`POST /packages answered ${asked.status}: ${asked.text}`);
      return until(
        `${name} is installed`,
        async () => {
          const { body } = await server.get(`/package-installations/${asked.body.id}`);
          return body.state !== "running" && body;
        },
        60_000,
      );
    },
    run: async (code, more = {}) => (await server.post("/processes", { code, block: true, ...more })).body,
    get: (path) => server.get(path),
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
