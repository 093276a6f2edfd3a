/** Identifies a server's process on its machine, so that another process there can tell that it has ended. */
export interface Place {
  /** Identifies the machine's current boot and process id namespace. */
  machine: string;
  pid: number;
  /** Process start in machine ticks, because its pid may be reused. */
  started: string;
}

export interface ModuleActivation {
  state: "inactive" | "active" | "draining";
}

export interface ReplicaFacts {
  id: string;
  name: string;
  version: string;
  place: Place | null;
  token: Buffer;
  address: string | null;
  secretsKey: string | null;
  secretsKeys: readonly string[];
  slots: number | null;
  modules: Record<string, ModuleActivation>;
  draining: boolean;
}

export interface ReplicaRow extends ReplicaFacts {
  isEarlier: boolean;
  silentMs: number;
}
