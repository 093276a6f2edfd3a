/**
 * The restricted pod security standard, rule by rule. Source of each: the Kubernetes documentation, "Pod Security
 * Standards", profile Restricted (which includes Baseline); the names are those of its table of controls.
 */

// biome-ignore lint/suspicious/noExplicitAny: manifests of every shape, wrong ones too
type Pod = any;

interface Control {
  name: string;
  profile: "Baseline" | "Restricted";
  /** What breaks it; nothing where it is kept. */
  check(pod: Pod): string[];
}

const VOLUME_TYPES = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
];
const SAFE_SYSCTLS = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
];
const SELINUX_TYPES = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];
const SECCOMP_TYPES = ["RuntimeDefault", "Localhost"];
const APPARMOR_TYPES = ["RuntimeDefault", "Localhost"];

function containersOf(pod: Pod): Pod[] {
  return [pod.containers, pod.initContainers, pod.ephemeralContainers].flatMap((group) => group ?? []);
}

function each(pod: Pod, isBroken: (container: Pod) => boolean): string[] {
  return containersOf(pod)
    .filter(isBroken)
    .map(({ name }) => `container ${name}`);
}

/** Of the pod and of every container, as far as they say something. */
function contexts(pod: Pod): Pod[] {
  return [
    pod.securityContext ?? {},
    ...containersOf(pod).map(({ securityContext }) => securityContext ?? {}),
  ];
}

const CONTROLS: Control[] = [
  {
    name: "HostProcess",
    profile: "Baseline",
    check: (pod) => contexts(pod).flatMap((c) => (c.windowsOptions?.hostProcess ? ["hostProcess"] : [])),
  },
  {
    name: "Host Namespaces",
    profile: "Baseline",
    check: (pod) => ["hostNetwork", "hostPID", "hostIPC"].filter((name) => pod[name]),
  },
  {
    name: "Privileged Containers",
    profile: "Baseline",
    check: (pod) => each(pod, ({ securityContext }) => Boolean(securityContext?.privileged)),
  },
  {
    name: "HostPath Volumes",
    profile: "Baseline",
    check: (pod) => (pod.volumes ?? []).flatMap((volume: Pod) => (volume.hostPath ? [volume.name] : [])),
  },
  {
    name: "Host Ports",
    profile: "Baseline",
    check: (pod) => each(pod, ({ ports }) => (ports ?? []).some(({ hostPort }: Pod) => hostPort)),
  },
  {
    name: "Host Probes / Lifecycle Hooks",
    profile: "Baseline",
    check: (pod) =>
      each(pod, (c) => {
        const handlers = [
          c.livenessProbe,
          c.readinessProbe,
          c.startupProbe,
          c.lifecycle?.postStart,
          c.lifecycle?.preStop,
        ];
        return handlers.some((handler) => handler?.httpGet?.host || handler?.tcpSocket?.host);
      }),
  },
  {
    name: "AppArmor",
    profile: "Baseline",
    check: (pod) =>
      contexts(pod).flatMap(({ appArmorProfile }) =>
        appArmorProfile && !APPARMOR_TYPES.includes(appArmorProfile.type) ? [appArmorProfile.type] : [],
      ),
  },
  {
    name: "SELinux",
    profile: "Baseline",
    check: (pod) =>
      contexts(pod).flatMap(({ seLinuxOptions: options = {} }) =>
        SELINUX_TYPES.includes(options.type ?? "") && !options.user && !options.role
          ? []
          : ["seLinuxOptions"],
      ),
  },
  {
    name: "/proc Mount Type",
    profile: "Baseline",
    check: (pod) =>
      each(pod, ({ securityContext }) => (securityContext?.procMount ?? "Default") !== "Default"),
  },
  {
    name: "Sysctls",
    profile: "Baseline",
    check: (pod) =>
      (pod.securityContext?.sysctls ?? [])
        .map(({ name }: Pod) => name)
        .filter((name: string) => !SAFE_SYSCTLS.includes(name)),
  },
  {
    name: "Volume Types",
    profile: "Restricted",
    check: (pod) =>
      (pod.volumes ?? []).flatMap(({ name, ...source }: Pod) =>
        Object.keys(source).every((type) => VOLUME_TYPES.includes(type)) ? [] : [name],
      ),
  },
  {
    name: "Privilege Escalation",
    profile: "Restricted",
    check: (pod) => each(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false),
  },
  {
    name: "Running as Non-root",
    profile: "Restricted",
    check: (pod) =>
      each(pod, ({ securityContext }) => {
        const own = securityContext?.runAsNonRoot;
        return own === undefined ? pod.securityContext?.runAsNonRoot !== true : own !== true;
      }),
  },
  {
    name: "Running as Non-root user",
    profile: "Restricted",
    check: (pod) => contexts(pod).flatMap(({ runAsUser }) => (runAsUser === 0 ? ["runAsUser 0"] : [])),
  },
  {
    name: "Seccomp",
    profile: "Restricted",
    check: (pod) => [
      ...each(pod, ({ securityContext }) => {
        const profile = securityContext?.seccompProfile ?? pod.securityContext?.seccompProfile;
        return !SECCOMP_TYPES.includes(profile?.type);
      }),
      ...contexts(pod).flatMap(({ seccompProfile }) =>
        seccompProfile && !SECCOMP_TYPES.includes(seccompProfile.type) ? ["seccompProfile"] : [],
      ),
    ],
  },
  {
    name: "Capabilities",
    profile: "Restricted",
    check: (pod) =>
      each(pod, ({ securityContext }) => {
        const { drop = [], add = [] } = securityContext?.capabilities ?? {};
        return !drop.includes("ALL") || add.some((name: string) => name !== "NET_BIND_SERVICE");
      }),
  },
];

export const CONTROL_NAMES = CONTROLS.map(({ name }) => name);

/** What of the restricted standard a pod's `spec` breaks: `control: where`. */
export function findViolations(pod: Pod): string[] {
  return CONTROLS.flatMap(({ name, check }) => check(pod).map((where) => `${name}: ${where}`));
}
