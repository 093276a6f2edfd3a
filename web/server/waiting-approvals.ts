/** Live number of pending approvals, for the badge on every page. */
import { effect, signal } from "@preact/signals";
import { isSignedIn, key } from "./access.ts";
import { ALL, get } from "./api.ts";
import { followStream, soon } from "./stream.ts";

/** Null if the number is unknown or the key may not see approvals. */
export const waitingApprovals = signal<number | null>(null);
/** Changes whenever an approval is requested or decided. */
export const approvalChanges = signal(0);
export const playsSound = signal(false);

/** Changes within this time cause one request. */
const SETTLE_MS = 150;

/** Follows approvals while a user is signed in. Call once. */
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
  const readNow = () => void read(signal);
  try {
    await followStream("/approvals/stream", signal, soon(SETTLE_MS, signal, readNow), readNow);
  } catch {
    // This key may not read approvals, so there is no badge.
    waitingApprovals.value = null;
  }
}

async function read(signal: AbortSignal): Promise<void> {
  try {
    const query = { state: "pending", limit: ALL.params.query.limit } as const;
    const { approvals } = await get("/approvals", { params: { query }, signal });
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
