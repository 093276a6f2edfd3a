/**
 * The chart as helm renders it, with several sets of values: manifests that Kubernetes takes, pods that the restricted
 * standard lets in, a configuration that the server starts with, and no value without a description.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { parseConfig } from "#api/config.ts";
import { findHelm } from "./helm.ts";
import { checkSchema, checkTypes, listTemplates, type Manifest, render } from "./manifests.ts";
import { CONTROL_NAMES, findViolations } from "./pod-security.ts";
import { API_KEY, DATABASE_URL, HTTPS_OUT, minimal, VALUE_SETS } from "./values.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const CHART = path.join(ROOT, "deploy/helm/cyrnel");
const found = await findHelm();
const helm = "helm" in found ? found.helm : null;
if ("reason" in found) console.warn(`The chart is not rendered here: ${found.reason}.`);

/** What Kubernetes makes of the value of a variable: `$(NAME)` is a reference, here to `expanded`, and `$$` is `$`. */
function expand(value: string): string {
  return value.replace(/\$\$|\$\([^)]*\)/g, (found) => (found === "$$" ? "$" : "expanded"));
}

describe.skipIf(helm === null)("rendered", async () => {
  const rendered = new Map<string, Manifest[]>();
  for (const [name, values] of helm === null ? [] : Object.entries(VALUE_SETS)) {
    rendered.set(name, await render(helm ?? "", values));
  }
  const of = (set: string, kind: string): Manifest =>
    rendered.get(set)?.find((manifest) => manifest.kind === kind);
  const podOf = (set: string): Manifest => of(set, "Deployment").spec.template.spec;
  /** The variables of a Deployment as its pods get them. */
  const environmentOf = (deployment: Manifest): Record<string, string> =>
    Object.fromEntries(
      deployment.spec.template.spec.containers[0].env.map(({ name, value }: Manifest) => [
        name,
        expand(value),
      ]),
    );
  const refuse = (values: object) =>
    render(helm ?? "", values).then(
      () => "",
      (error) => String(error.stderr),
    );

  test("every template makes a manifest with some of the values", async () => {
    const kinds = new Set([...rendered.values()].flat().map(({ kind }) => String(kind).toLowerCase()));
    expect((await listTemplates()).map((name) => name.replace(".yaml", "")).sort()).toEqual(
      [...kinds].sort(),
    );
  });

  test("every manifest is as Kubernetes' schemas want it, without a member that it does not know", async () => {
    const manifests = [...rendered.values()].flat();
    expect(manifests.flatMap(checkSchema)).toEqual([]);
    expect(await checkTypes(manifests)).toEqual([]);
  });

  test("the check sees a wrong value, a wrong type and an unknown member", async () => {
    const broken = structuredClone(of("minimal", "Deployment"));
    broken.spec.template.spec.containers[0].readinesProbe = {};
    expect((await checkTypes([broken])).join()).toContain("readinesProbe");
    broken.spec.template.spec.containers[0].ports[0].containerPort = "http";
    expect(checkSchema(broken).join()).toMatch(/containerPort|port/i);
    expect(checkSchema({ apiVersion: "v1", kind: "Pod" })).toEqual(["no schema for v1 Pod"]);
  });

  test.each(Object.keys(VALUE_SETS))("the restricted standard lets in the pods of %s", (set) => {
    expect(findViolations(podOf(set))).toEqual([]);
    expect(podOf(set).automountServiceAccountToken).toBe(false);
    expect(podOf(set).containers[0].securityContext.readOnlyRootFilesystem).toBe(true);
  });

  const CONTAINER_FAULTS: [string, object][] = [
    ["Privileged Containers", { securityContext: { privileged: true } }],
    ["Host Ports", { ports: [{ containerPort: 1, hostPort: 1 }] }],
    ["Host Probes / Lifecycle Hooks", { livenessProbe: { httpGet: { host: "10.0.0.1", port: 1 } } }],
    ["/proc Mount Type", { securityContext: { procMount: "Unmasked" } }],
    ["Privilege Escalation", { securityContext: { allowPrivilegeEscalation: undefined } }],
    ["Running as Non-root", { securityContext: { runAsNonRoot: false } }],
    ["Seccomp", { securityContext: { seccompProfile: { type: "Unconfined" } } }],
    ["Capabilities", { securityContext: { capabilities: { drop: ["NET_RAW"] } } }],
    ["Capabilities", { securityContext: { capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] } } }],
    ["SELinux", { securityContext: { seLinuxOptions: { type: "spc_t" } } }],
    ["AppArmor", { securityContext: { appArmorProfile: { type: "Unconfined" } } }],
    ["HostProcess", { securityContext: { windowsOptions: { hostProcess: true } } }],
  ];
  const POD_FAULTS: [string, object][] = [
    ["Host Namespaces", { hostPID: true }],
    ["HostPath Volumes", { volumes: [{ name: "v", hostPath: { path: "/" } }] }],
    ["Volume Types", { volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] }],
    ["Sysctls", { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } }],
    ["Running as Non-root user", { securityContext: { runAsUser: 0 } }],
  ];

  test("the check of the standard sees each of its controls broken, in a container of any kind", () => {
    const faulty = (base: Manifest, fault: Manifest) => ({
      ...base,
      ...fault,
      securityContext: { ...base.securityContext, ...fault.securityContext },
    });
    const seen = new Set<string>();
    for (const [control, fault] of POD_FAULTS) {
      expect(findViolations(faulty(podOf("minimal"), fault)).join()).toContain(control);
      seen.add(control);
    }
    for (const [control, fault] of CONTAINER_FAULTS) {
      const pod = podOf("minimal");
      const bad = { ...faulty(pod.containers[0], fault), name: "bad" };
      for (const group of ["containers", "initContainers", "ephemeralContainers"])
        expect(findViolations({ ...pod, [group]: [bad] }).join()).toContain(control);
      seen.add(control);
    }
    expect([...seen].sort()).toEqual([...CONTROL_NAMES].sort());
  });

  test.each(Object.keys(VALUE_SETS))("what %s refers to is there", (set) => {
    const manifests = rendered.get(set) ?? [];
    const deployment = of(set, "Deployment");
    const { labels } = deployment.spec.template.metadata;
    const selectors = [
      deployment.spec.selector.matchLabels,
      of(set, "Service").spec.selector,
      of(set, "NetworkPolicy")?.spec.podSelector.matchLabels ?? {},
      of(set, "PodDisruptionBudget")?.spec.selector.matchLabels ?? {},
    ];
    for (const selector of selectors) expect(labels).toMatchObject(selector);
    expect(of(set, "Service").metadata.labels).toMatchObject(
      of(set, "ServiceMonitor")?.spec.selector.matchLabels ?? {},
    );
    const { envFrom, volumeMounts, ports } = podOf(set).containers[0];
    expect(envFrom).toEqual([{ secretRef: { name: of(set, "Secret")?.metadata.name ?? "own" } }]);
    expect(ports[0]).toMatchObject({
      name: of(set, "Service").spec.ports[0].targetPort,
      containerPort: 9371,
    });
    const volumes = podOf(set).volumes.map(({ name }: Manifest) => name);
    expect(volumeMounts.map(({ name }: Manifest) => name)).toEqual(volumes);
    expect(podOf(set).serviceAccountName).toBe(of(set, "ServiceAccount")?.metadata.name ?? "own-account");
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { metadata } of manifests) expect(metadata.namespace).toBe("sandbox");
  });

  test.each(Object.keys(VALUE_SETS))("a server starts with the configuration of %s", (set) => {
    const environment = {
      DATABASE_URL,
      CYRNEL_API_KEY: API_KEY,
      ...of(set, "Secret")?.stringData,
      ...environmentOf(of(set, "Deployment")),
    };
    const parsed = parseConfig(environment, "linux");
    expect(parsed).toMatchObject({ ok: true });
    if (!parsed.ok) return;
    // What stops a pod for good comes after all that the server may take.
    const { shutdownDelayMs, shutdownTimeoutMs } = parsed.config;
    expect(podOf(set).terminationGracePeriodSeconds * 1000).toBe(
      shutdownDelayMs + shutdownTimeoutMs + 45_000,
    );
  });

  test.each([
    ["isolation", { isolation: "standard" }],
    ["shutdownSeconds", { shutdownSeconds: 31 }],
    ["shutdownDelaySeconds", { shutdownDelaySeconds: 6 }],
    ["config", { config: { LOG_LEVEL: "debug" } }],
    ["secret.values", { secret: { values: { DATABASE_URL, CYRNEL_API_KEY: `${API_KEY}0` } } }],
  ])("pods read their environment once: a change of %s starts them anew", async (_name, change) => {
    const base = { secret: { values: { DATABASE_URL, CYRNEL_API_KEY: API_KEY } } };
    const templateOf = async (values: object) => {
      const manifests = await render(helm ?? "", values);
      return manifests.find(({ kind }) => kind === "Deployment").spec.template;
    };
    const before = await templateOf(base);
    expect(await templateOf({ ...base, ...change })).not.toEqual(before);
    expect(await templateOf({ ...base, replicas: 3 })).toEqual(before);
  });

  test.each(Object.keys(VALUE_SETS))("pods of %s read no settings that a later revision changes", (set) => {
    const { containers, initContainers, volumes } = podOf(set);
    const kinds = (rendered.get(set) ?? []).map(({ kind }) => kind);
    expect(kinds).not.toContain("ConfigMap");
    expect(JSON.stringify([containers, initContainers, volumes])).not.toContain("configMap");
  });

  test("pods reach names, Postgres, each other and what the operator allows; nothing else reaches out", () => {
    const { policyTypes, egress, ingress } = of("everything", "NetworkPolicy").spec;
    expect(policyTypes).toEqual(["Ingress", "Egress"]);
    expect(egress.map(({ ports }: Manifest) => ports.map(({ port }: Manifest) => port))).toEqual([
      [53, 53],
      [5432],
      [9371],
      [443],
    ]);
    for (const { to } of egress) expect(to.length).toBeGreaterThan(0);
    expect(egress[3]).toEqual(HTTPS_OUT);
    expect(ingress).toHaveLength(1);
    expect(of("minimal", "NetworkPolicy").spec.egress).toHaveLength(3);
  });

  test("a secret of the chart's own is made only where none is named", () => {
    expect(of("minimal", "Secret")).toBeUndefined();
    expect(of("tryingOut", "Secret").stringData.DATABASE_URL).toBe(DATABASE_URL);
    expect(JSON.stringify(of("tryingOut", "Deployment"))).not.toMatch(/word|0123456789abcdef0123/);
  });

  test("autoscaling leaves the number of pods to the autoscaler", () => {
    expect(of("everything", "Deployment").spec).not.toHaveProperty("replicas");
    expect(of("everything", "HorizontalPodAutoscaler").spec.scaleTargetRef.name).toBe(
      of("everything", "Deployment").metadata.name,
    );
    expect(of("minimal", "HorizontalPodAutoscaler")).toBeUndefined();
  });

  test("names stay within bounds, and a release called cyrnel does not say it twice", async () => {
    const names = async (release: string) =>
      (await render(helm ?? "", minimal, release)).map(({ metadata }) => metadata.name);
    expect(new Set(await names("cyrnel"))).toEqual(new Set(["cyrnel"]));
    for (const name of await names("r".repeat(53))) expect(name.length).toBeLessThanOrEqual(53);
  });

  test.each([
    ["no secret", {}, "secret.existingSecret"],
    ["an unknown value", { ...minimal, replica: 2 }, "replica"],
    ["what the chart sets itself", { ...minimal, config: { HOST: "::" } }, "HOST"],
    ["the chart's time to stop", { ...minimal, config: { CYRNEL_SHUTDOWN_DELAY_MS: "0" } }, "SHUTDOWN_DELAY"],
    ["a secret in the config", { ...minimal, config: { DATABASE_URL } }, "DATABASE_URL"],
    [
      "a number as a variable",
      { ...minimal, config: { CYRNEL_RETENTION_DAYS: 30 } },
      "CYRNEL_RETENTION_DAYS",
    ],
    ["no isolation", { ...minimal, isolation: "development" }, "isolation"],
    ["scraping without a key", { ...minimal, serviceMonitor: { enabled: true } }, "keySecret"],
    ["an ingress for no host", { ...minimal, ingress: { enabled: true } }, "hosts"],
    ["more pods than may be", { ...minimal, autoscaling: { enabled: true, minReplicas: 11 } }, "minReplicas"],
    ["no pods", { ...minimal, replicas: 0 }, "replicas"],
    [
      "a value that would end in another manifest",
      { ...minimal, runtimeClassName: "a\nhostPID: true" },
      "runtimeClassName",
    ],
  ])("helm refuses %s, naming it", async (_name, values, named) => {
    expect(await refuse(values)).toContain(named);
  });

  test("values cannot break out of where they stand", async () => {
    const evil = "x\"\nhostPID: true # '{{ .Values }} $(CYRNEL_API_KEY) $$(PORT) $HOME";
    const manifests = await render(helm ?? "", {
      ...minimal,
      config: { CYRNEL_EGRESS_ALLOW: evil },
      podAnnotations: { "example.com/a": evil },
      image: { repository: evil },
    });
    const deployment = manifests.find(({ kind }) => kind === "Deployment");
    expect(deployment.spec.template.spec.hostPID).toBeUndefined();
    expect(deployment.spec.template.metadata.annotations["example.com/a"]).toBe(evil);
    expect(environmentOf(deployment).CYRNEL_EGRESS_ALLOW).toBe(evil);
  });
});

describe("values", async () => {
  const text = await readFile(path.join(CHART, "values.yaml"), "utf8");
  const values = load(text) as Record<string, Manifest>;
  const schema = JSON.parse(await readFile(path.join(CHART, "values.schema.json"), "utf8"));

  test("are those of the schema, one by one", () => {
    const { global: _global, ...top } = schema.properties;
    expect(Object.keys(values).sort()).toEqual(Object.keys(top).sort());
    for (const [name, value] of Object.entries(values)) {
      const properties = top[name].properties;
      if (properties !== undefined)
        expect([name, Object.keys(value).sort()]).toEqual([name, Object.keys(properties).sort()]);
    }
  });

  test("are each described on the page about Kubernetes", async () => {
    const page = await readFile(path.join(ROOT, "docs/kubernetes.md"), "utf8");
    expect(Object.keys(values).filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });

  test("come with the version of the program", async () => {
    const chart = load(await readFile(path.join(CHART, "Chart.yaml"), "utf8")) as Manifest;
    const program = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
    expect(chart.appVersion).toBe(program.version);
  });
});
