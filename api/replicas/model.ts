/** What the servers on one database know of each other. No behaviour. */

/** Which process on which machine a server is; enough to see from there that it is gone. */
export interface Place {
  /** The machine's current boot, and the namespace that its process ids belong to. */
  machine: string;
  pid: number;
  /** When the process began, as the machine counts: the number may be given to another process later. */
  started: string;
}

export interface ModuleActivation {
  state: "inactive" | "active" | "draining";
}

/** What a server says about itself, anew with each beat. */
export interface ReplicaFacts {
  id: string;
  name: string;
  version: string;
  place: Place | null;
  token: Buffer;
  /** Null until it listens. */
  address: string | null;
  secretsKey: string | null;
  secretsKeys: readonly string[];
  slots: number | null;
  modules: Record<string, ModuleActivation>;
  /** It was told to stop. */
  draining: boolean;
}

export interface ReplicaRow extends ReplicaFacts {
  /** Whether it was there before the one that asks. */
  isEarlier: boolean;
  /** Milliseconds, by the clock of the database. */
  silentMs: number;
}
