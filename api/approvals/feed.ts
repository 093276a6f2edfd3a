/**
 * Live feed of approvals. Each client reads from a bounded list of recent changes at its own pace. A client that was
 * disconnected for longer than the list covers is told to reload.
 */
import { randomBytes } from "node:crypto";

export interface ApprovalChange {
  number: number;
  id: string;
}

const MAX_REMEMBERED = 1000;
const PING_INTERVAL_MS = 15_000;
const MAX_ID_CHARACTERS = 40;

export class ApprovalFeed {
  /**
   * Change numbers are valid only within one epoch: those of other servers, or from before a restart, do not match
   * this list.
   */
  readonly #epoch = randomBytes(6).toString("hex");
  readonly #changes: ApprovalChange[] = [];
  readonly #wakes = new Set<() => void>();
  readonly #closed = new AbortController();
  #last = 0;

  get size(): number {
    return this.#wakes.size;
  }

  note(id: string): void {
    this.#last += 1;
    this.#changes.push({ number: this.#last, id });
    if (this.#changes.length > MAX_REMEMBERED) this.#changes.shift();
    for (const wake of [...this.#wakes]) wake();
  }

  close(): void {
    this.#closed.abort();
    for (const wake of [...this.#wakes]) wake();
  }

  /**
   * Yields server-sent events as text: `approval` for each change, `reset` if changes were missed. `render` returns
   * the current JSON of an approval, or null to omit it.
   */
  async *follow(
    lastEventId: string | null,
    render: (id: string) => Promise<string | null>,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    let wake: () => void = () => {};
    let changed = false;
    const onChange = () => {
      changed = true;
      wake();
    };
    this.#wakes.add(onChange);
    signal.addEventListener("abort", onChange, { once: true });
    try {
      let seen = lastEventId === null ? this.#last : this.#find(lastEventId);
      yield ": ping\n\n";
      for (;;) {
        if (signal.aborted || this.#closed.signal.aborted) return;
        changed = false;
        const oldest = this.#changes[0]?.number ?? this.#last + 1;
        if (seen === null || seen + 1 < oldest) {
          seen = this.#last;
          yield `id: ${this.#epoch}.${seen}\nevent: reset\ndata: {}\n\n`;
        }
        for (const { number, id } of this.#changes.slice(seen + 1 - oldest)) {
          seen = number;
          const json = await render(id);
          if (json !== null) yield `id: ${this.#epoch}.${number}\nevent: approval\ndata: ${json}\n\n`;
        }
        if (changed) continue;
        const { promise, resolve } = Promise.withResolvers<"time" | undefined>();
        wake = () => resolve(undefined);
        const timer = setTimeout(resolve, PING_INTERVAL_MS, "time");
        const reason = await promise;
        clearTimeout(timer);
        if (reason === "time") yield ": ping\n\n";
      }
    } finally {
      this.#wakes.delete(onChange);
      signal.removeEventListener("abort", onChange);
    }
  }

  #find(lastEventId: string): number | null {
    const [epoch, number] = lastEventId.slice(0, MAX_ID_CHARACTERS).split(".");
    if (epoch !== this.#epoch || !/^\d{1,15}$/.test(number ?? "")) return null;
    const seen = Number(number);
    return seen <= this.#last ? seen : null;
  }
}
