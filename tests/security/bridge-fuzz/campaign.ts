/**
 * Many conversations, one after another, with what must hold for all of them together: no exception anywhere, nothing
 * on the prototypes, a heap that comes back to its size. A failure is cut down to the messages it needs.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Conversation, createConversation } from "./conversation.ts";
import { type Played, play } from "./play.ts";

export interface Campaign {
  conversations: number;
  frames: number;
  ends: Record<string, number>;
  wallMs: number;
  /** The most V8 held at any time, garbage included, with buffers. */
  peakHeapBytes: number;
  /** What is held after the campaign beyond what was held before it, garbage collected. */
  heapGrowthBytes: number;
  /** The first failure, as text to print: its seed, what broke, and the messages it takes. */
  failure: string | null;
}

export interface CampaignOptions {
  firstSeed: number;
  /** Stops once so many frames have been judged. */
  frames: number;
  onProgress?: (campaign: Campaign) => void;
}

const CONVERSATIONS_PER_SAMPLE = 256;

/** Plays conversations from `firstSeed` on until enough frames were judged or one fails. */
export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const collect = exposeCollector();
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  process.on("unhandledRejection", onError);
  process.on("uncaughtException", onError);
  const prototypes = describePrototypes();
  const heapBefore = await measureKept(collect);
  const campaign: Campaign = {
    conversations: 0,
    frames: 0,
    ends: {},
    wallMs: 0,
    peakHeapBytes: heapBefore,
    heapGrowthBytes: 0,
    failure: null,
  };
  const startedAt = performance.now();

  async function playOne(conversation: Conversation): Promise<Played> {
    errors.length = 0;
    const played = await play(conversation);
    const faults = [...played.faults];
    if (errors.length > 0)
      faults.push(`an exception went unhandled: ${String((errors[0] as Error)?.stack ?? errors[0])}`);
    if (describePrototypes() !== prototypes) faults.push("a prototype of the host was changed");
    return { ...played, faults };
  }

  try {
    for (let seed = options.firstSeed; campaign.frames < options.frames; seed++) {
      const conversation = createConversation(seed);
      const played = await playOne(conversation);
      campaign.conversations++;
      campaign.frames += played.frames;
      campaign.ends[played.end] = (campaign.ends[played.end] ?? 0) + 1;
      if (campaign.conversations % CONVERSATIONS_PER_SAMPLE === 0 || conversation.kind === "flood") {
        campaign.peakHeapBytes = Math.max(campaign.peakHeapBytes, measureHeap());
        options.onProgress?.(campaign);
      }
      if (played.faults.length > 0) {
        const smallest = await shrink(
          conversation,
          async (smaller) => (await playOne(smaller)).faults.length > 0,
        );
        campaign.failure = describeFailure(smallest, (await playOne(smallest)).faults, played.faults);
        break;
      }
    }
  } finally {
    process.off("unhandledRejection", onError);
    process.off("uncaughtException", onError);
  }
  campaign.wallMs = performance.now() - startedAt;
  campaign.heapGrowthBytes = (await measureKept(collect)) - heapBefore;
  return campaign;
}

/** Leaves out messages, from large parts to single ones, as long as it still fails. */
async function shrink(
  conversation: Conversation,
  fails: (smaller: Conversation) => Promise<boolean>,
): Promise<Conversation> {
  let smallest: Conversation = { ...conversation, expected: null };
  if (!(await fails(smallest))) return conversation;
  for (
    let size = Math.ceil(smallest.steps.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < smallest.steps.length; ) {
      const smaller = { ...smallest, steps: smallest.steps.toSpliced(at, size) };
      if (await fails(smaller)) smallest = smaller;
      else at += size;
    }
  }
  return smallest;
}

const MAX_SHOWN_STEPS = 12;

function describeFailure(conversation: Conversation, faults: string[], atFirst: string[]): string {
  const { seed, kind, cut, pace, reading, leaving, abortAfterChunks, handlers, steps } = conversation;
  const shown = steps.slice(0, MAX_SHOWN_STEPS).map(({ text }, index) => `  ${index + 1}. ${text}`);
  if (steps.length > MAX_SHOWN_STEPS) shown.push(`  … and ${steps.length - MAX_SHOWN_STEPS} more`);
  return [
    `seed ${seed} (${kind}; replay: npm run bench -- fuzz --seed ${seed})`,
    ...(faults.length > 0 ? faults : atFirst).map((fault) => `  broke: ${fault}`),
    `  sent ${cut}, ${pace}; reads ${reading}; leaves by ${leaving}; handlers ${handlers}; host gives up after ${abortAfterChunks ?? "no"} chunks`,
    ...shown,
  ].join("\n");
}

function measureHeap(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const COLLECTIONS = 3;

/** The first collection still counts buffers that were in use until then; the second one does not. */
async function measureKept(collect: () => void): Promise<number> {
  let kept = Number.POSITIVE_INFINITY;
  for (let count = 0; count < COLLECTIONS; count++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
    kept = Math.min(kept, measureHeap());
  }
  return kept;
}

function exposeCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

const PROTOTYPES = [Object, Array, Function, String, Number, Promise, Error, Map, Buffer];

function describePrototypes(): string {
  return PROTOTYPES.map(({ prototype }) => Reflect.ownKeys(prototype).length).join();
}
