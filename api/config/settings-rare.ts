import path from "node:path";
import { z } from "zod";
import { setting } from "./setting.ts";
import { flag, secretsKeys, text, wholeNumber } from "./values.ts";

export const RARELY_CHANGED = {
  CYRNEL_ZYGOTE: setting(
    "zygote",
    z.enum(["on", "off"], { error: "expected on or off" }),
    "on",
    "How `typescript-process` creates its processes. `on`: forks each from a prepared process where the machine allows it; forks of one process share its memory layout. `off`: boots Node for every run, at five times the cost.",
  ),
  CYRNEL_SECRETS_PREVIOUS_KEYS: setting(
    null,
    secretsKeys,
    null,
    "Earlier values of CYRNEL_SECRETS_KEY, comma-separated, used for decryption only. `cyrnel secrets rotate` re-encrypts everything with the current key; remove the earlier keys afterwards.",
  ),
  CYRNEL_SPOOL_DIR: setting(
    "spoolDirectory",
    text.min(1, { error: "expected a folder" }).transform((folder) => path.resolve(folder)),
    null,
    "Folder on a disk for files that runs write while they are active. Created if missing; its contents do not outlive the server. Defaults to the system's temporary folder.",
  ),
  CYRNEL_MAX_SPOOL_BYTES: setting(
    "maxSpoolBytes",
    wholeNumber(1, 2 ** 50),
    "4294967296",
    "Maximum bytes in CYRNEL_SPOOL_DIR for all active runs together, including file contents they have since replaced. A run that would exceed it ends as `failed` / `output_limit`. The last tenth is reserved for keys that use little. Set it below the free space of the disk.",
  ),
  CYRNEL_OBJECT_STORE_PATH_STYLE: setting(
    "objectStorePathStyle",
    flag,
    "true",
    "Whether requests name the bucket in the path, which all stores support. `false`: in the host name.",
  ),
  CYRNEL_OBJECT_STORE_TIMEOUT_MS: setting(
    "objectStoreTimeoutMs",
    wholeNumber(100, 600_000),
    "10000",
    "Time limit of one attempt to read or write up to 8 MiB in the object store, in milliseconds. After three attempts the request fails with 503.",
  ),
  CYRNEL_NPM_REGISTRY_TIMEOUT_MS: setting(
    "npmRegistryTimeoutMs",
    wholeNumber(100, 300_000),
    "30000",
    "How long the registry may send nothing, before or during a response, until the installation fails, in milliseconds.",
  ),
  CYRNEL_MAX_PENDING_BODY_BYTES: setting(
    "maxPendingBodyBytes",
    wholeNumber(4 * 1024 ** 2, 2 ** 40),
    "201326592",
    "Maximum memory for request bodies that are still arriving, in bytes, for all keys together. One key may use half of it. Beyond its half a key gets 429 `too_many_bodies`; beyond the total every request gets 503 `server_busy`. File uploads are streamed and do not count.",
  ),
  CYRNEL_REQUEST_TIMEOUT_MS: setting(
    "requestTimeoutMs",
    wholeNumber(1000, 3_600_000),
    "120000",
    "How long a client may take to send a request with its body, in milliseconds. After that the connection is closed.",
  ),
};
