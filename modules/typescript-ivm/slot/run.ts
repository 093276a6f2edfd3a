/**
 * One run in a slot: what goes into its isolate and what comes out. Ends exactly once; after that nothing enters the
 * isolate and nothing of it is passed on.
 */
import {
  announceAttachment,
  holdAttached,
  isReading,
  readPackages,
  readReply,
  takeAttached,
  takeAttachmentPiece,
} from "#runner/child/bridge.ts";
import { createTimers } from "#runner/child/timers.ts";
import type { StartParams } from "#runner/wire/protocol.ts";
import type { BeginParams, DoneParams } from "../control.ts";
import type { PreparedIsolate } from "./isolate.ts";

/** How messages start that concern the slot itself: control messages, and timers of the realm. */
export const CONTROL_PREFIX = '{"method":';
/** An end with a result is the last thing the realm does in its entry; one with an error may come in the middle. */
const RESULT_PREFIX = '{"jsonrpc":"2.0","method":"end","params":{"ok":true';
const FAILURE_PREFIX = '{"jsonrpc":"2.0","method":"end","params":{"ok":false';

export interface RunOutput {
  /** Passes messages of the run on, in order. */
  write(...texts: string[]): void;
  /** The run is over and its isolate disposed. */
  finished(): void;
}

export interface Run {
  /** A message of the host: `start` first, then replies. */
  deliver(text: string): void;
  /** Milliseconds until something other than a message can go on with the run: 0 in the next turn, Infinity never. */
  readonly waitMs: number;
}

interface EmbedderMessage {
  method: string;
  params: { id: number; ms: number; at: number; bytes: number };
}

/** How often V8 is let go on with work of its own, where a script may have started some. */
const TASKS_EVERY_MS = 5;
type EnterIsolate = () => ReturnType<PreparedIsolate["receive"]>;

/** `hasTasks`: scripts may use what V8 does beside them, which is WebAssembly. */
export function createRun(
  isolate: PreparedIsolate,
  params: BeginParams,
  output: RunOutput,
  hasTasks: boolean,
): Run {
  const { backstopMs } = params;
  const cpuAtBegin = process.cpuUsage();
  const waiting: EnterIsolate[] = [];
  let taskTimer: NodeJS.Timeout | undefined;
  let started = false;
  let makesCodeCache = false;
  let entering = false;
  let ended = false;
  let over = false;
  let heldEnd: string | null = null;
  let cause: DoneParams["cause"] = null;
  const timers = createTimers((id) => enter(() => isolate.receive(timerText(id), backstopMs)));

  isolate.onMessage = (text) => {
    if (over || takeAttachmentPiece(text)) return undefined;
    if (text.startsWith(CONTROL_PREFIX)) return serve(text);
    if (text.startsWith(RESULT_PREFIX)) {
      // Goes out with `done` a moment later: one write, one wake-up of the host.
      over = true;
      heldEnd = text;
    } else {
      output.write(text);
      over = text.startsWith(FAILURE_PREFIX);
    }
    return undefined;
  };

  /** A timer; bytes that go out or have come in; or a reply that the realm waits for: the text of these two is answered. */
  function serve(text: string): string | undefined {
    const { method, params } = JSON.parse(text) as EmbedderMessage;
    if (method === "wait") return isReading ? undefined : readReply(params.id);
    if (method === "take") return takeAttached(params.at);
    if (method === "attach") announceAttachment(params.bytes);
    else if (method === "clear") timers.clear(params.id);
    else if (!timers.arm(params.id, params.ms)) cause = "memory_limit";
    return undefined;
  }

  function enter(entry: EnterIsolate): void {
    if (entering) {
      waiting.push(entry);
      return;
    }
    if (ended) return;
    entering = true;
    leave(entry());
  }

  function leave(result: ReturnType<EnterIsolate>): void {
    entering = false;
    if (over) cause = null;
    else if (result === "gone") cause = "memory_limit";
    else if (result === "timeout") cause = "timeout";
    if (over || cause !== null) finish();
    if (ended) return;
    const next = waiting.shift();
    if (next !== undefined) enter(next);
    else if (hasTasks) taskTimer ??= setTimeout(runTasks, TASKS_EVERY_MS);
  }

  function runTasks(): void {
    taskTimer = undefined;
    if (ended || entering) return;
    entering = true;
    void isolate.runTasks(backstopMs).then(leave);
  }

  function finish(): void {
    ended = true;
    timers.clearAll();
    clearTimeout(taskTimer);
    const cpu = process.cpuUsage(cpuAtBegin);
    const done: DoneParams = {
      cpuMs: (cpu.user + cpu.system) / 1000,
      peakMemoryBytes: isolate.measureMemory(),
      cause,
    };
    if (makesCodeCache && heldEnd !== null) writeCodeCaches();
    const text = JSON.stringify({ method: "done", params: done });
    if (heldEnd === null) output.write(text);
    else output.write(heldEnd, text);
    isolate.dispose();
    output.finished();
  }

  function writeCodeCaches(): void {
    for (const { digest, data } of isolate.makeCodeCaches()) {
      const params = { digest, data: data.toString("base64") };
      output.write(JSON.stringify({ jsonrpc: "2.0", method: "codeCache", params }));
    }
  }

  return {
    deliver(text) {
      if (started) {
        // Until it is its turn, other frames may come.
        const putBack = entering ? holdAttached() : () => {};
        enter(() => {
          putBack();
          return isolate.receive(text, backstopMs);
        });
        return;
      }
      started = true;
      // A run that ran out of memory or time may have left its last write unfinished.
      announceAttachment(0);
      const { params } = JSON.parse(text) as { params: StartParams };
      isolate.givePackages(readPackages(params.packages));
      makesCodeCache = params.makesCodeCache === true;
      enter(() => isolate.start(text, params.code, backstopMs));
    },
    get waitMs() {
      return Math.min(timers.nextInMs, hasTasks ? TASKS_EVERY_MS : Number.POSITIVE_INFINITY);
    },
  };
}

function timerText(id: number): string {
  return `{"method":"timer","params":{"id":${id}}}`;
}
