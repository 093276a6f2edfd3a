/** How long a child is kept for a run that waits. */
export class Hold {
  readonly #ms: number;
  readonly #onPassed: () => void;
  #timer: NodeJS.Timeout | undefined;
  #hasPassed = false;

  constructor(ms: number, onPassed: () => void) {
    this.#ms = ms;
    this.#onPassed = onPassed;
  }

  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  start(): void {
    this.stop();
    this.#timer = setTimeout(() => this.pass(), this.#ms).unref();
  }

  pass(): void {
    this.#hasPassed = true;
    this.#onPassed();
  }

  /** Nobody is waited for. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#hasPassed = false;
  }
}
