/** What services need of other features, as narrow types: they come in as arguments. */
import type { ModuleLogger } from "#sdk";

/** What of services exists for one caller: every route asks it. */
export interface ServiceSight {
  /** Those of `ids` that do; an id without a service may be among them. */
  visible(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether a service with these tools would. */
  wouldShow(id: string, toolIds: readonly string[]): boolean;
}

export interface Download {
  bytes: Buffer;
  /** After redirects. */
  finalUrl: string;
}
/** Fetches over http(s) within the egress rules. Throws AppError. */
export type Downloader = (url: string, options: { maxBytes: number; accept?: string }) => Promise<Download>;

export type Logger = ModuleLogger;
