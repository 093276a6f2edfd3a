import { Counter, type Registry } from "prom-client";
import type { FileRefusal } from "#api/processes/model/files.ts";
import type { RunObserver } from "#api/processes/model/records.ts";

const REFUSALS: Readonly<Record<FileRefusal, 0>> = {
  quota: 0,
  workspace: 0,
  artifacts: 0,
  spool: 0,
  file_size: 0,
  uploads: 0,
};

export interface FileCounters extends Required<Pick<RunObserver, "filesLeft">> {
  fileUploaded(outcome: "stored" | "failed", bytes: number): void;
  fileRefused(reason: FileRefusal): void;
  filesSwept(what: "files" | "contents" | "blobs", count: number): void;
}

export function createFileCounters(registry: Registry): FileCounters {
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Counter({ name: `cyrnel_${name}`, help, labelNames, registers: [registry] });
  const uploads = counter("file_uploads_total", "Finished uploads.", ["outcome"]);
  const uploadedBytes = counter("file_upload_bytes_total", "Bytes received by uploads.", ["outcome"]);
  const artifacts = counter("artifacts_total", "Files that runs left.");
  const artifactBytes = counter("artifact_bytes_total", "Bytes of these files.");
  const refusals = counter("file_refusals_total", "Refused files, by the limit.", ["reason"]);
  // Starts every series at zero, because Prometheus sees increases only of existing series.
  for (const [reason, none] of Object.entries(REFUSALS)) refusals.inc({ reason }, none);
  const swept = counter(
    "files_swept_total",
    "What sweeps removed: files past their time, contents that nothing refers to, and their blobs.",
    ["what"],
  );
  return {
    filesLeft({ artifacts: left, filesRefused }) {
      artifacts.inc(left.length);
      for (const { size } of left) artifactBytes.inc(size);
      if (filesRefused !== null) refusals.inc({ reason: filesRefused });
    },
    fileUploaded(outcome, bytes) {
      uploads.inc({ outcome });
      uploadedBytes.inc({ outcome }, bytes);
    },
    fileRefused(reason) {
      refusals.inc({ reason });
    },
    filesSwept(what, count) {
      swept.inc({ what }, count);
    },
  };
}
