/** How many approvals wait for a person, live, for the badge of every view. */
import { effect, signal } from "@preact/signals";
import { unwrap } from "#client/errors.ts";
import { isSignedIn, key } from "../session/access.ts";
import { client } from "./api.ts";
import { followStream } from "./stream.ts";

/** Null: not known, or not for this key to know. */
export const waitingApprovals = signal<number | null>(null);
/** Changes whenever an approval is asked for or decided. */
export const approvalChanges = signal(0);
export const playsSound = signal(false);

const MAX_COUNTED = 200;
/** Changes within this time are one reading. */
const SETTLE_MS = 150;

/** Follows as long as somebody is signed in. Call once. */
export function watchApprovals(): void {
  effect(() => {
    void key.value;
    if (!isSignedIn.value) {
      waitingApprovals.value = null;
      return;
    }
    const stop = new AbortController();
    void follow(stop.signal);
    return () => stop.abort();
  });
}

async function follow(signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const readSoon = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void read(signal);
    }, SETTLE_MS);
  };
  try {
    await followStream("/approvals/stream", signal, readSoon, () => void read(signal));
  } catch {
    // This key may not decide: there is no badge.
    waitingApprovals.value = null;
  } finally {
    clearTimeout(timer);
  }
}

async function read(signal: AbortSignal): Promise<void> {
  try {
    const { approvals } = unwrap(
      await client.value.GET("/approvals", {
        params: { query: { state: "pending", limit: String(MAX_COUNTED) } },
        signal,
      }),
    );
    if (signal.aborted) return;
    const before = waitingApprovals.value;
    waitingApprovals.value = approvals.length;
    approvalChanges.value += 1;
    if (playsSound.value && before !== null && approvals.length > before) chime();
  } catch {
    // The next change or connection reads again.
  }
}

const CHIME = { frequencyHz: 660, gain: 0.05, seconds: 0.18 };

function chime(): void {
  const context = new AudioContext();
  const tone = context.createOscillator();
  const volume = context.createGain();
  tone.frequency.value = CHIME.frequencyHz;
  volume.gain.value = CHIME.gain;
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(context.currentTime + CHIME.seconds);
  tone.onended = () => void context.close();
}
