/** How many runs each environment holds, and leases for one more while it has room. Waits and queues for nothing. */
import type { EnvironmentLease, Environments } from "#api/components/modules/environments.ts";

/** Room for one run. */
export interface Slot {
  readonly lease: EnvironmentLease;
  /** While its run is paused another may have the slot; the environment stays held. */
  giveUp(): void;
  /** The run goes on at once, also where no place is free. */
  takeBack(): void;
  /** The run is over. Idempotent. */
  release(): void;
  /** It was not used: nothing has become free that was not before. */
  discard(): void;
}

export class Slots {
  readonly #environments: Environments;
  readonly #onFree: () => void;
  readonly #heldBy = new Map<EnvironmentLease["module"], number>();
  #taken = 0;

  constructor(environments: Environments, onFree: () => void) {
    this.#environments = environments;
    this.#onFree = onFree;
  }

  /** Over all environments, draining ones too. */
  get taken(): number {
    return this.#taken;
  }

  /** Null when no environment is active or the active one is full. One that reports no status is never full. */
  take(): Slot | null {
    const active = this.#environments.active();
    if (!active) return null;
    const slots = active.status()?.slots ?? Number.POSITIVE_INFINITY;
    const held = this.#heldBy.get(active.module) ?? 0;
    // Written so that a status without a number counts as full.
    if (!(held < slots)) return null;
    const lease = this.#environments.acquire();
    if (!lease) return null;
    this.#count(lease, 1);
    let isHeld = true;
    let isCounted = true;
    const setCounted = (counted: boolean) => {
      if (!isHeld || isCounted === counted) return;
      isCounted = counted;
      this.#count(lease, counted ? 1 : -1);
    };
    const free = (): boolean => {
      if (!isHeld) return false;
      setCounted(false);
      isHeld = false;
      lease[Symbol.dispose]();
      return true;
    };
    return {
      lease,
      giveUp: () => {
        setCounted(false);
        this.#onFree();
      },
      takeBack: () => setCounted(true),
      release: () => {
        if (free()) this.#onFree();
      },
      discard: () => void free(),
    };
  }

  #count({ module }: EnvironmentLease, change: 1 | -1): void {
    this.#taken += change;
    const held = (this.#heldBy.get(module) ?? 0) + change;
    if (held === 0) this.#heldBy.delete(module);
    else this.#heldBy.set(module, held);
  }
}
