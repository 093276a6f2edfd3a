/** A probe of the comparison: one attack, made in the same way on every peer, with a control in which it works. */
import type { Facts } from "./world.ts";

export interface PeerProbe {
  id: string;
  /** What it is after: the host's world, the host through the realm, processor time, memory. */
  group: "world" | "realm" | "time" | "memory";
  script(facts: Facts, hostPid: number): string;
  /** Null where the attack works without a sandbox, as it should; else what was seen. */
  control(): Promise<string | null>;
}
