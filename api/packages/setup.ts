import { join } from "node:path";
import type { Environments } from "#api/components/modules/environments.ts";
import type { Config } from "#api/config.ts";
import type { Pool } from "#api/db/pool.ts";
import { pauseFor } from "#api/db/retry.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import { removeInBatches, startSweeps } from "#api/db/sweeps.ts";
import type { ContentStore } from "#api/files/contents/contents.ts";
import type { PackageHost } from "#api/processes/model/packages.ts";
import { bundlePackage } from "#runner/packages/bundle.ts";
import type { ModuleLogger } from "#sdk";
import { createPackageDirectory } from "./directory.ts";
import { createPackageHost, type PackageHostOptions } from "./host.ts";
import { installPackage } from "./install/installer.ts";
import { createInstallations, type InstallationsOptions } from "./installations.ts";
import { createPackages, type Packages } from "./service.ts";
import { deleteUnusedBundles, findPackageRow } from "./store.ts";
import { deleteOldInstallations, giveUpLostInstallations } from "./store-installations.ts";
import { storePackage, storeStarterSet } from "./storing.ts";
import { createTrials } from "./trials.ts";

const SWEEP_INTERVAL_MS = 10 * 60_000;
const BATCH_ROWS = 100;
/** Time to keep an unused bundle, because a run may still import a removed package. */
const UNUSED_MS = 24 * 3_600_000;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
const KEPT_INSTALLATIONS = 500;
const INCOMPLETE_STARTER_SET =
  "packages of the starter set did not come with this server: npm ci (without --omit=dev) and npm run build make them, or install them with cyrnel packages add";

export interface PackageSetupOptions
  extends Pick<PackageHostOptions, "mayImport" | "pickSimilar">,
    Pick<InstallationsOptions, "onEnd"> {
  pool: Pool;
  watch: Pick<RevisionWatch, "follow" | "refresh">;
  contents: ContentStore;
  environments: Environments;
  fetch: typeof globalThis.fetch;
  config: Pick<
    Config,
    | "dataDirectory"
    | "npmRegistry"
    | "npmRegistryToken"
    | "npmRegistryTimeoutMs"
    | "packageMinAgeDays"
    | "packageAdvisories"
  >;
  /** Folder of the starter set, or null to store none. */
  starterFolder: string | null;
  log: ModuleLogger;
}

export interface PackageSetup extends AsyncDisposable {
  packages: Packages;
  host: PackageHost;
  start(): void;
}

/** Call before the revision watch starts. */
export function openPackages(options: PackageSetupOptions): PackageSetup {
  const {
    pool: db,
    watch,
    contents,
    environments,
    fetch,
    config,
    log,
    mayImport,
    pickSimilar,
    onEnd,
  } = options;
  const open = new AsyncDisposableStack();
  const directory = createPackageDirectory(db, watch);
  let storing: Promise<void> = Promise.resolve();
  const trials = createTrials(environments);
  const { npmRegistry, packageAdvisories } = config;
  const registry = {
    url: npmRegistry,
    token: config.npmRegistryToken,
    advisoriesUrl: findAdvisories(npmRegistry, packageAdvisories),
  };
  const installer = {
    fetch,
    registry,
    minAgeDays: config.packageMinAgeDays,
    idleMs: config.npmRegistryTimeoutMs,
    advisories: { off: "off", registry: "asked" }[packageAdvisories as string] ?? "required",
  } as Parameters<typeof installPackage>[0];
  const installations = open.use(
    createInstallations({
      db,
      directory: join(config.dataDirectory, "packages"),
      install: (request) => installPackage(installer, request),
      bundle: bundlePackage,
      trials,
      isInstalled: (name, version) => directory.versionsOf(name).some((one) => one.version === version),
      findTree: async (name, version) => (await findPackageRow(db, name, version))?.details.tree ?? null,
      async store(pkg) {
        const isNew = await storePackage(db, contents, pkg);
        await watch.refresh();
        return isNew;
      },
      onEnd,
      log,
    }),
  );

  async function sweep(signal: AbortSignal): Promise<number> {
    await giveUpLostInstallations(db);
    await deleteOldInstallations(db, KEPT_INSTALLATIONS);
    await installations.clean();
    return removeInBatches((maxRows) => deleteUnusedBundles(db, UNUSED_MS, maxRows), BATCH_ROWS, signal);
  }

  return {
    packages: createPackages({ db, contents, watch, directory, installations, mayImport }),
    host: createPackageHost({
      db,
      contents,
      directory,
      trials,
      starterStored: () => storing,
      mayImport,
      pickSimilar,
    }),
    start() {
      const what = "bundles of packages";
      open.use(startSweeps(db, { name: "packages", everyMs: SWEEP_INTERVAL_MS, what, log, remove: sweep }));
      const { starterFolder } = options;
      if (starterFolder === null) return;
      const starting = new AbortController();
      const firstTry = Promise.withResolvers<void>();
      storing = firstTry.promise;
      const stored = storeWhenPossible(options, starterFolder, starting.signal, () => firstTry.resolve());
      open.defer(async () => {
        starting.abort();
        await stored;
      });
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Retries until it succeeds, because the object store may be down at startup. */
async function storeWhenPossible(
  { pool, contents, watch, log }: PackageSetupOptions,
  folder: string,
  over: AbortSignal,
  onTried: () => void,
): Promise<void> {
  for (let retryMs = FIRST_RETRY_MS; !over.aborted; retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)) {
    try {
      const { stored, absent } = await storeStarterSet(pool, contents, folder, over);
      if (stored > 0) await watch.refresh();
      if (absent.length > 0) log.warn({ absent }, INCOMPLETE_STARTER_SET);
      return;
    } catch (error) {
      log.warn({ err: error, retryMs }, "the starter set of packages could not be stored; trying again");
    } finally {
      onTried();
    }
    await pauseFor(retryMs, over);
  }
}

/** Returns the advisory URL, or null if advisory checks are switched off. */
function findAdvisories(registry: string, setting: string): string | null {
  if (setting === "off") return null;
  return setting === "registry"
    ? `${registry.replace(/\/$/, "")}/-/npm/v1/security/advisories/bulk`
    : setting;
}
