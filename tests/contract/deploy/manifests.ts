/**
 * What helm renders, as manifests, and whether Kubernetes would take them: by its schemas (values), and by its types
 * (members that do not exist). Both come from the packages made of its own API description.
 */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
import { loadAll } from "js-yaml";
import { Deployment } from "kubernetes-models/apps/v1";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
import { Ingress, NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Secret, Service, ServiceAccount } from "kubernetes-models/v1";
import { TSC } from "#tests/checks/packages.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const CHART = path.join(ROOT, "deploy/helm/cyrnel");
const CACHE = path.join(ROOT, "tests/packages/node_modules/.cache");
const run = promisify(execFile);

// biome-ignore lint/suspicious/noExplicitAny: tests look into manifests of every shape
export type Manifest = any;

const KINDS: Record<string, { model: new (data: Manifest) => { validate(): void }; from: string }> = {
  Secret: { model: Secret, from: "kubernetes-models/v1" },
  Service: { model: Service, from: "kubernetes-models/v1" },
  ServiceAccount: { model: ServiceAccount, from: "kubernetes-models/v1" },
  Deployment: { model: Deployment, from: "kubernetes-models/apps/v1" },
  HorizontalPodAutoscaler: { model: HorizontalPodAutoscaler, from: "kubernetes-models/autoscaling/v2" },
  Ingress: { model: Ingress, from: "kubernetes-models/networking.k8s.io/v1" },
  NetworkPolicy: { model: NetworkPolicy, from: "kubernetes-models/networking.k8s.io/v1" },
  PodDisruptionBudget: { model: PodDisruptionBudget, from: "kubernetes-models/policy/v1" },
  ServiceMonitor: {
    model: ServiceMonitor,
    from: "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1",
  },
};

/** Templates of the chart that make a manifest. */
export async function listTemplates(): Promise<string[]> {
  return (await readdir(path.join(CHART, "templates"))).filter((name) => name.endsWith(".yaml"));
}

/** Output of `helm template` for these values; rejects with helm's message. */
export async function render(helm: string, values: object, release = "test"): Promise<Manifest[]> {
  const home = await mkdtemp(path.join(tmpdir(), "cyrnel-helm-home-"));
  try {
    const file = path.join(home, "values.json");
    await writeFile(file, JSON.stringify(values));
    const { stdout } = await run(
      helm,
      ["template", release, CHART, "--namespace", "sandbox", "--values", file],
      {
        env: { HOME: home, PATH: "" },
        maxBuffer: 16 << 20,
      },
    );
    return loadAll(stdout).filter((document) => document !== null && document !== undefined);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Violations of Kubernetes' schemas in a manifest. */
export function checkSchema(manifest: Manifest): string[] {
  const kind = KINDS[manifest.kind];
  if (kind === undefined) return [`no schema for ${manifest.apiVersion} ${manifest.kind}`];
  try {
    // A copy: the models fill in what is missing.
    const model = new kind.model(structuredClone(manifest));
    model.validate();
    return [];
  } catch (error) {
    return [`${manifest.kind} ${manifest.metadata?.name}: ${(error as Error).message}`];
  }
}

/** Members that no version of the API has, and wrong types: what the compiler says of the manifests as literals. */
export async function checkTypes(manifests: readonly Manifest[]): Promise<string[]> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(path.join(CACHE, "manifests-"));
  try {
    const imports = Object.entries(KINDS).map(
      ([kind, { from }]) => `import type { I${kind} } from "${from}";`,
    );
    const literals = manifests.map(
      (manifest, index) =>
        `export const m${index}: I${manifest.kind} = ${JSON.stringify(manifest, null, 1)};`,
    );
    await writeFile(path.join(folder, "manifests.ts"), [...imports, ...literals].join("\n"));
    await writeFile(
      path.join(folder, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: { strict: true, noEmit: true, skipLibCheck: true, module: "nodenext", types: [] },
        files: ["manifests.ts"],
      }),
    );
    const compiled = await run(TSC, ["-p", folder]).catch((error: { stdout: string }) => error);
    return compiled.stdout.split("\n").filter((line) => line.includes("error TS"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
