/** What every peer is measured through: something that runs the body of an async function and answers what it returned. */

export interface Limits {
  timeoutMs: number;
  memoryMb: number;
}

export interface Runner extends AsyncDisposable {
  /** JSON of what the script returned. Rejects if it failed, was ended or could not be run. */
  run(body: string, limits: Limits): Promise<unknown>;
}

export interface RunnerSettings {
  /** Where the peer's package was installed; empty for what comes with Node or with this project. */
  packages: string;
  /** A folder the host would not want read. */
  hidden: string;
  /** What the host has in its environment. */
  secret: string;
  /** Folders with programs the peer needs, and with their libraries. */
  path: string;
  libraries: string;
}

export type OpenRunner = (settings: RunnerSettings) => Promise<Runner>;
