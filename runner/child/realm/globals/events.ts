/**
 * `Event`, `CustomEvent` and `EventTarget` (DOM standard; without a tree, so nothing bubbles). Loaded on first use.
 */

type Listener = ((event: Event) => unknown) | { handleEvent(event: Event): unknown };

interface Registration {
  type: string;
  listener: Listener;
  capture: boolean;
  once: boolean;
  removed: boolean;
}

interface ListenerOptions {
  once?: boolean;
  capture?: boolean;
  signal?: EventTarget & { aborted: boolean };
}

let report: (error: unknown) => void = () => {};

/** Sets the handler for errors thrown by listeners. They fail the run, as they end a Node process. */
export function reportWith(reporter: (error: unknown) => void): void {
  report = reporter;
}

export class Event {
  readonly type: string;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly timeStamp = Date.now();
  target: EventTarget | null = null;
  currentTarget: EventTarget | null = null;
  #prevented = false;
  #stopped = false;

  constructor(type: string, options: { bubbles?: boolean; cancelable?: boolean } = {}) {
    this.type = String(type);
    this.bubbles = Boolean(options.bubbles);
    this.cancelable = Boolean(options.cancelable);
  }

  get defaultPrevented(): boolean {
    return this.#prevented;
  }

  preventDefault(): void {
    if (this.cancelable) this.#prevented = true;
  }

  stopPropagation(): void {}

  stopImmediatePropagation(): void {
    this.#stopped = true;
  }

  get [Symbol.toStringTag](): string {
    return "Event";
  }

  static wasStopped(event: Event): boolean {
    return event.#stopped;
  }
}
const { wasStopped } = Event;
Reflect.deleteProperty(Event, "wasStopped");

export class CustomEvent extends Event {
  readonly #detail: unknown;

  constructor(type: string, options: ConstructorParameters<typeof Event>[1] & { detail?: unknown } = {}) {
    super(type, options);
    this.#detail = options?.detail ?? null;
  }

  get detail(): unknown {
    return this.#detail;
  }

  override get [Symbol.toStringTag](): string {
    return "CustomEvent";
  }
}

export class EventTarget {
  #registrations: Registration[] = [];

  addEventListener(type: string, listener: Listener | null, options: ListenerOptions | boolean = {}): void {
    if (listener === null || listener === undefined) return;
    const {
      once = false,
      capture = false,
      signal,
    } = typeof options === "boolean" ? { capture: options } : options;
    if (signal?.aborted || this.#find(type, listener, capture) !== undefined) return;
    this.#registrations.push({ type: String(type), listener, capture, once, removed: false });
    signal?.addEventListener("abort", () => this.removeEventListener(type, listener, { capture }), {
      once: true,
    });
  }

  removeEventListener(
    type: string,
    listener: Listener | null,
    options: ListenerOptions | boolean = {},
  ): void {
    const { capture = false } = typeof options === "boolean" ? { capture: options } : options;
    const found = this.#find(type, listener, capture);
    if (found !== undefined) this.#remove(found);
  }

  dispatchEvent(event: Event): boolean {
    if (!(event instanceof Event)) throw new TypeError("dispatchEvent expects an Event.");
    event.target = this;
    event.currentTarget = this;
    for (const registration of [...this.#registrations]) {
      if (registration.type !== event.type || registration.removed) continue;
      if (registration.once) this.#remove(registration);
      this.#notify(registration.listener, event);
      if (wasStopped(event)) break;
    }
    event.currentTarget = null;
    return !event.defaultPrevented;
  }

  #notify(listener: Listener, event: Event): void {
    try {
      if (typeof listener === "function") listener.call(this, event);
      else listener.handleEvent(event);
    } catch (error) {
      report(error);
    }
  }

  #find(type: string, listener: Listener | null, capture: boolean): Registration | undefined {
    return this.#registrations.find(
      (entry) => entry.type === String(type) && entry.listener === listener && entry.capture === capture,
    );
  }

  #remove(registration: Registration): void {
    registration.removed = true;
    this.#registrations = this.#registrations.filter((entry) => entry !== registration);
  }
}
