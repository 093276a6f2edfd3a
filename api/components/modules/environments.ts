/** What the rest of the server sees of the environments: the active one, leased per run. */
import type { EnvironmentModule, EnvironmentStatus } from "#sdk";

/** One run's hold on an environment: a replaced environment is torn down when its last lease is disposed. */
export interface EnvironmentLease extends Disposable {
  readonly id: string;
  readonly module: EnvironmentModule;
}

export interface ActiveEnvironment {
  readonly id: string;
  readonly module: EnvironmentModule;
  /** Null for a module that does not report a status. */
  status(): EnvironmentStatus | null;
}

export interface Environments {
  active(): ActiveEnvironment | null;
  /** Leases the active environment for one run; null while none is active. */
  acquire(): EnvironmentLease | null;
  /** While none is active: which layer of its isolation the one that was to run scripts lacks, and what to do; null: another reason. */
  refusal(): string | null;
  /** Called after the active environment has changed (also to none). Returns the function that stops listening. */
  onChange(listener: () => void): () => void;
}
