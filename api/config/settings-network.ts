import { z } from "zod";
import { setting } from "./setting.ts";
import {
  collectorAddress,
  collectorHeaders,
  egressEntries,
  fraction,
  replicaAddress,
  text,
  webAddress,
  wholeNumber,
} from "./values.ts";

export const EGRESS_AND_PACKAGES = {
  CYRNEL_EGRESS_ALLOW: setting(
    null,
    egressEntries,
    null,
    "Destinations outside the public internet that downloads and adapters may connect to, comma-separated: addresses, blocks (`10.0.0.0/8`) and host names (`db.corp.example`; `*.corp.example` for every host below it). Link-local and cloud metadata addresses must be listed one by one.",
  ),
  CYRNEL_EGRESS_DENY: setting(
    null,
    egressEntries,
    null,
    "Destinations that downloads and adapters never connect to, in the format of CYRNEL_EGRESS_ALLOW, over which it takes precedence.",
  ),
  CYRNEL_NPM_REGISTRY: setting(
    "npmRegistry",
    webAddress,
    "https://registry.npmjs.org",
    "Registry to install npm packages from. Egress rules apply.",
  ),
  CYRNEL_NPM_REGISTRY_TOKEN: setting(
    "npmRegistryToken",
    text.regex(/^[\x21-\x7e]{1,4096}$/, { error: "expected printable ASCII without spaces" }),
    null,
    "Token for that registry, sent as `Authorization: Bearer <token>` to that registry only.",
  ),
  CYRNEL_PACKAGE_MIN_AGE_DAYS: setting(
    "packageMinAgeDays",
    wholeNumber(0, 3650),
    "3",
    "Minimum age of a package and each of its dependencies, in days since publication. Most malicious versions are found within the first days. 0: no minimum.",
  ),
  CYRNEL_PACKAGE_ADVISORIES: setting(
    "packageAdvisories",
    z.union([z.enum(["registry", "off"]), webAddress], { error: "expected registry, off or an address" }),
    "registry",
    "Where to look up known vulnerabilities before installing a package; known malware is refused. `registry`: at the registry, if it offers advisories. An address (of npm's bulk advisory endpoint): there, and nothing is installed if it does not respond. `off`: no lookup.",
  ),
};

export const REPLICAS = {
  CYRNEL_REPLICA_ADDRESS: setting(
    "replicaAddress",
    replicaAddress,
    null,
    "Address at which other replicas on the same database reach this one, for example `http://10.0.0.7:9371`. Defaults to the listening address, or to this machine's own address if the server listens on all.",
  ),
  CYRNEL_SHUTDOWN_DELAY_MS: setting(
    "shutdownDelayMs",
    wholeNumber(0, 300_000),
    "0",
    "On SIGTERM or SIGINT, how long the server reports itself not ready but still serves requests (with `Connection: close`) before it closes, in milliseconds. This gives load balancers time to deregister it. The Helm chart sets it.",
  ),
  SHUTDOWN_TIMEOUT_MS: setting(
    "shutdownTimeoutMs",
    wholeNumber(0, 3_600_000),
    "10000",
    "On SIGTERM or SIGINT, how long runs may take to finish before they end as `interrupted`, in milliseconds.",
  ),
};

export const TELEMETRY = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    null,
    collectorAddress,
    null,
    "Base address of an OTLP/HTTP collector (`http://collector:4318`) that receives traces of requests, runs and tool calls. If unset, no traces are sent.",
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(
    null,
    collectorHeaders,
    null,
    "Headers for the collector: `name=value`, comma-separated, values percent-encoded. May contain a key.",
  ),
  OTEL_SERVICE_NAME: setting(
    null,
    text.max(200, { error: "expected at most 200 characters" }),
    "cyrnel",
    "Name of the server in traces.",
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(
    null,
    fraction,
    "1",
    "Fraction of traces to keep, from 0 to 1. Applies to traces that start here; for requests with a `traceparent`, its sampling decision applies.",
  ),
};
