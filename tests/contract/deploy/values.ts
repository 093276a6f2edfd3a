/** Sets of values with which the tests render the chart. */

export const DATABASE_URL = "postgres://cyrnel:word@postgres:5432/cyrnel";
export const API_KEY = "0123456789abcdef0123456789abcdef";
export const HTTPS_OUT = {
  to: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] } }],
  ports: [{ port: 443, protocol: "TCP" }],
};

export const minimal = { secret: { existingSecret: "own" } };
/** Everything that can be switched on, and every value that is not text of ours. */
const everything = {
  ...minimal,
  image: { repository: "registry.example/cyrnel", digest: `sha256:${"a".repeat(64)}`, pullPolicy: "Always" },
  imagePullSecrets: [{ name: "registry" }],
  fullnameOverride: "sandboxes",
  config: { CYRNEL_DEFAULT_POLICY: "ask-destructive", CYRNEL_EGRESS_ALLOW: "10.0.0.0/8", LOG_LEVEL: "warn" },
  runtimeClassName: "gvisor",
  isolation: "standard",
  shutdownSeconds: 600,
  shutdownDelaySeconds: 0,
  data: { existingClaim: "modules" },
  service: { type: "LoadBalancer", port: 443, annotations: { "example.com/internal": "true" } },
  serviceAccount: { annotations: { "example.com/role": "none" } },
  ingress: {
    enabled: true,
    className: "nginx",
    annotations: { "example.com/timeout": "120" },
    hosts: ["cyrnel.example", "other.example"],
    tls: [{ secretName: "tls", hosts: ["cyrnel.example"] }],
  },
  networkPolicy: {
    ingressFrom: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress" } } }],
    postgres: [{ podSelector: { matchLabels: { app: "postgres" } } }],
    dns: [{ ipBlock: { cidr: "10.96.0.10/32" } }],
    egress: [HTTPS_OUT],
  },
  podDisruptionBudget: { maxUnavailable: "25%" },
  autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 30, targetCpuPercent: 80 },
  serviceMonitor: {
    enabled: true,
    labels: { release: "prometheus" },
    keySecret: { name: "metrics", key: "key" },
  },
  podAnnotations: { "example.com/a": "b" },
  podLabels: { team: "platform" },
  nodeSelector: { "kubernetes.io/arch": "amd64" },
  tolerations: [{ key: "sandbox", operator: "Exists", effect: "NoSchedule" }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }],
      },
    },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "topology.kubernetes.io/zone",
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: { "app.kubernetes.io/name": "cyrnel" } },
    },
  ],
  priorityClassName: "important",
};
const tryingOut = {
  replicas: 1,
  secret: { values: { DATABASE_URL, CYRNEL_API_KEY: API_KEY, CYRNEL_SECRETS_KEY: "" } },
  config: { CYRNEL_RETENTION_DAYS: "30" },
};
const bare = {
  ...minimal,
  serviceAccount: { existingName: "own-account" },
  networkPolicy: { enabled: false },
  podDisruptionBudget: { enabled: false },
  resources: {},
};
export const VALUE_SETS: Record<string, object> = { minimal, everything, tryingOut, bare };
