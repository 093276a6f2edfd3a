import { setting } from "./setting.ts";
import { bucketFolder, orNone, wholeNumber } from "./values.ts";

export const LIMITS = {
  CYRNEL_MAX_ACTIVE_PROCESSES: setting(
    "maxActiveProcesses",
    wholeNumber(1, 1_000_000),
    "1000",
    "Maximum queued and running runs; further submissions get 429. The last tenth is reserved for keys with few runs: a key may use at most half of what is free there.",
  ),
  CYRNEL_MAX_RUNNING_PER_KEY: setting(
    "maxRunningPerKey",
    orNone(wholeNumber(0)),
    "0",
    "Maximum concurrent runs of one key, over all replicas; further runs wait in the queue. 0: no limit; keys that compete for slots get equal shares.",
  ),
  CYRNEL_MAX_CODE_SIZE_BYTES: setting(
    "maxCodeSizeBytes",
    wholeNumber(1, 1_000_000),
    "102400",
    "Largest script, in bytes of UTF-8.",
  ),
  CYRNEL_MAX_STDOUT_BYTES: setting(
    "maxStdoutBytes",
    wholeNumber(0, 64 * 1024 * 1024),
    "1048576",
    "Bytes of standard output stored per run. The rest is cut off with a visible mark.",
  ),
  CYRNEL_MAX_STDERR_BYTES: setting(
    "maxStderrBytes",
    wholeNumber(0, 64 * 1024 * 1024),
    "1048576",
    "Bytes of standard error stored per run. The rest is cut off with a visible mark.",
  ),
  CYRNEL_MAX_TIMEOUT_MS: setting(
    "maxTimeoutMs",
    orNone(wholeNumber(0)),
    "0",
    "Longest time limit a run may request, in milliseconds. Longer ones, and `null`, are lowered to it. 0: no maximum, and `null` means no time limit.",
  ),
  CYRNEL_MAX_CPU_MS: setting(
    "maxCpuMs",
    orNone(wholeNumber(0)),
    "0",
    "Most processor time a run may request, in milliseconds; also the default for runs that request none. 0: no maximum.",
  ),
  CYRNEL_INVOKE_TIMEOUT_MS: setting(
    "invokeTimeoutMs",
    wholeNumber(1),
    "30000",
    "Time limit of one tool call, in milliseconds.",
  ),
  CYRNEL_MAX_CALLS_IN_FLIGHT: setting(
    "maxCallsInFlight",
    wholeNumber(1, 100_000),
    "2000",
    "Maximum concurrent tool calls of all callers together. Further calls fail with `too_many_calls`.",
  ),
  CYRNEL_MAX_CALL_RESULT_BYTES: setting(
    "maxCallResultBytes",
    wholeNumber(1024, 16 * 1024 * 1024),
    "16777216",
    "Largest result of a tool call, in bytes of JSON. Larger ones fail with `result_too_large`.",
  ),
};

export const STORAGE = {
  CYRNEL_MAX_FILE_BYTES: setting(
    "maxFileBytes",
    wholeNumber(1, 5 * 1024 ** 3),
    "67108864",
    "Largest file that may be uploaded, in bytes.",
  ),
  CYRNEL_MAX_WORKSPACE_BYTES: setting(
    "maxWorkspaceBytes",
    wholeNumber(0, 5 * 1024 ** 3),
    "67108864",
    "Maximum total bytes of a run's input files, and separately of the artifacts it leaves.",
  ),
  CYRNEL_MAX_STORED_BYTES: setting(
    "maxStoredBytes",
    orNone(wholeNumber(0, 2 ** 50)),
    "10737418240",
    "Maximum bytes stored for one key: uploads, files given to its runs, and their artifacts. Identical contents count once. 0: no limit.",
  ),
  CYRNEL_FILE_TTL_DAYS: setting(
    "fileTtlDays",
    wholeNumber(1, 36_500),
    "30",
    "Days after their last use until uploaded files are removed. Files given to a run stay with that run.",
  ),
  CYRNEL_RETENTION_DAYS: setting(
    "retentionDays",
    orNone(wholeNumber(0, 36_500)),
    "0",
    "Days until finished runs are removed. 0: kept for ever.",
  ),
  CYRNEL_RETENTION_MAX: setting(
    "retentionMax",
    orNone(wholeNumber(0)),
    "0",
    "Maximum finished runs to keep; the oldest are removed first. Up to 1 % more may stay for a while. 0: no maximum.",
  ),
  CYRNEL_AUDIT_RETENTION_DAYS: setting(
    "auditRetentionDays",
    orNone(wholeNumber(0, 36_500)),
    "0",
    "Days until audit records are removed. 0: kept for ever.",
  ),
  CYRNEL_OBJECT_STORE: setting(
    "objectStore",
    bucketFolder,
    null,
    "Bucket for the contents of new files: `s3://bucket/folder`, in any S3-compatible store. Configure its address, region and credentials with the standard AWS variables (`AWS_ENDPOINT_URL_S3`, `AWS_REGION`, `AWS_ACCESS_KEY_ID` …). If unset, contents are stored in Postgres.",
  ),
};
