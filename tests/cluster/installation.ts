/** The chart in a running cluster: its namespaces, a Postgres, a pod that asks the server, and what kubectl and helm are told. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { findHelm } from "#tests/contract/deploy/helm.ts";

const CHART = path.resolve(import.meta.dirname, "../../deploy/helm/cyrnel");
const IMAGE = process.env.CYRNEL_TEST_IMAGE ?? "localhost/cyrnel-test:latest";
const POSTGRES_IMAGE = process.env.CYRNEL_TEST_POSTGRES_IMAGE ?? "docker.io/library/postgres:18";
/** Before 1.27: no policy/v1 with unhealthyPodEvictionPolicy, and the chart says so. */
const IS_OLD = process.env.CYRNEL_TEST_OLD_KUBERNETES === "1";
export const SELECTOR = "app.kubernetes.io/name=cyrnel";
const CLIENT = "client";
const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: 1000,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

export interface Pod {
  name: string;
  node: string;
  isReady: boolean;
  isStopping: boolean;
}

export interface Installation extends AsyncDisposable {
  /** In the namespace of the chart. Resolves with what it writes; rejects with what it says. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Installs or upgrades, and waits until all pods are new and ready. */
  deploy(values?: object): Promise<void>;
  pods(): Promise<Pod[]>;
  /** Resolves when as many pods as there are to be are ready, and no other is left. */
  settled(): Promise<void>;
  /** Runs a program of TypeScript in a pod of the namespace, beside the server's; what it writes. */
  inClient(program: string): Promise<string>;
  countNodes(): Promise<number>;
}

const REPLICAS = 2;

export async function install(): Promise<Installation> {
  const found = await findHelm();
  if ("reason" in found) throw new Error(found.reason);
  const { helm } = found;
  const namespace = `cyrnel-test-${randomBytes(3).toString("hex")}`;
  const databases = `${namespace}-databases`;
  const work = await mkdtemp(path.join(tmpdir(), "cyrnel-cluster-"));
  const chart = path.join(work, "chart");
  await cp(CHART, chart, { recursive: true });
  if (IS_OLD) {
    const file = path.join(chart, "Chart.yaml");
    await writeFile(file, (await readFile(file, "utf8")).replace(/^kubeVersion:.*\n/m, ""));
  }
  const kubectl = (args: readonly string[], input?: string) =>
    run("kubectl", ["--namespace", namespace, ...args], input);
  const apply = (...manifests: object[]) =>
    run(
      "kubectl",
      ["apply", "--filename", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }),
    );
  const removeAll = async () => {
    await kubectl(["delete", "namespace", namespace, databases, "--ignore-not-found", "--wait=true"]);
    await rm(work, { recursive: true, force: true });
  };

  async function deploy(values: object = {}): Promise<void> {
    const file = path.join(work, "values.json");
    const [repository = "", tag = "latest"] = IMAGE.split(/:(?=[^/]*$)/);
    const all = {
      image: { repository, tag },
      replicas: REPLICAS,
      secret: { existingSecret: "cyrnel" },
      resources: { requests: { cpu: "100m", memory: "256Mi" }, limits: { memory: "4Gi" } },
      ...(IS_OLD && { podDisruptionBudget: { enabled: false } }),
      ...values,
    };
    await writeFile(file, JSON.stringify(all));
    const args = ["upgrade", "--install", "cyrnel", chart, "--namespace", namespace];
    await run(helm, [...args, "--values", file, "--wait", "--timeout", "10m"]);
    await settled();
  }

  async function pods(): Promise<Pod[]> {
    const { items } = JSON.parse(await kubectl(["get", "pods", "--selector", SELECTOR, "--output", "json"]));
    return items.map(({ metadata, spec, status }: Manifest) => ({
      name: metadata.name,
      node: spec.nodeName,
      isReady: status.conditions?.some(({ type, status: is }: Manifest) => type === "Ready" && is === "True"),
      isStopping: metadata.deletionTimestamp !== undefined,
    }));
  }

  async function settled(): Promise<void> {
    for (let looks = 0; looks < 300; looks += 1) {
      const all = await pods();
      if (all.length === REPLICAS && all.every(({ isReady, isStopping }) => isReady && !isStopping)) return;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    throw new Error(`not ${REPLICAS} ready pods after 5 minutes:\n${await kubectl(["describe", "pods"])}`);
  }

  try {
    await apply(
      {
        ...describe("v1", "Namespace", namespace),
        metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
      },
      { apiVersion: "v1", kind: "Namespace", metadata: { name: databases } },
    );
    await apply(
      ...describePostgres(databases),
      describeSecret(namespace, databases),
      describeClient(namespace),
    );
    await run("kubectl", [
      "--namespace",
      databases,
      "rollout",
      "status",
      "deployment/postgres",
      "--timeout=5m",
    ]);
    await kubectl(["wait", "--for=condition=Ready", `pod/${CLIENT}`, "--timeout=5m"]);
    await deploy();
  } catch (error) {
    await removeAll().catch(() => {});
    throw error;
  }
  return {
    kubectl,
    deploy,
    pods,
    settled,
    inClient: (program) =>
      kubectl(["exec", "--stdin", CLIENT, "--", "node", "--input-type=module-typescript", "-"], program),
    async countNodes() {
      return JSON.parse(await kubectl(["get", "nodes", "--output", "json"])).items.length;
    },
    [Symbol.asyncDispose]: removeAll,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: manifests of every shape
type Manifest = any;

const describe = (apiVersion: string, kind: string, name: string, namespace?: string) => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }) },
});

function describePostgres(namespace: string): object[] {
  const env = ["POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_DB"];
  const container = {
    name: "postgres",
    image: POSTGRES_IMAGE,
    imagePullPolicy: "IfNotPresent",
    env: env.map((name) => ({ name, value: "cyrnel" })),
    readinessProbe: { tcpSocket: { port: 5432 }, periodSeconds: 2 },
    volumeMounts: [{ name: "shm", mountPath: "/dev/shm" }],
  };
  const volumes = [{ name: "shm", emptyDir: { medium: "Memory", sizeLimit: "256Mi" } }];
  const labels = { app: "postgres" };
  return [
    {
      ...describe("v1", "Service", "postgres", namespace),
      spec: { selector: labels, ports: [{ port: 5432 }] },
    },
    {
      ...describe("apps/v1", "Deployment", "postgres", namespace),
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container], volumes } },
      },
    },
  ];
}

function describeSecret(namespace: string, databases: string): object {
  return {
    ...describe("v1", "Secret", "cyrnel", namespace),
    stringData: {
      DATABASE_URL: `postgres://cyrnel:cyrnel@postgres.${databases}:5432/cyrnel`,
      CYRNEL_API_KEY: randomBytes(24).toString("hex"),
      CYRNEL_SECRETS_KEY: randomBytes(32).toString("base64"),
    },
  };
}

/** A pod of the namespace as any other: it reaches the server by the name of its Service. */
function describeClient(namespace: string): object {
  const key = { secretKeyRef: { name: "cyrnel", key: "CYRNEL_API_KEY" } };
  const container = {
    name: CLIENT,
    image: IMAGE,
    imagePullPolicy: "IfNotPresent",
    command: ["node", "-e", "process.on('SIGTERM', () => process.exit()); setInterval(() => {}, 1e9)"],
    env: [
      { name: "CYRNEL_URL", value: "http://cyrnel" },
      { name: "CYRNEL_API_KEY", valueFrom: key },
    ],
    securityContext: RESTRICTED,
    volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
  };
  const volumes = [{ name: "tmp", emptyDir: {} }];
  return {
    ...describe("v1", "Pod", CLIENT, namespace),
    spec: { automountServiceAccountToken: false, containers: [container], volumes },
  };
}

function run(program: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    const parts = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const)
      child[stream].setEncoding("utf8").on("data", (text: string) => {
        parts[stream] += text;
      });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(parts.stdout);
      else reject(new Error(`${program} ${args.join(" ")}: ${code}\n${parts.stderr}${parts.stdout}`));
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}
