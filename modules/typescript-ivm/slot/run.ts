/** One run in a slot. It ends exactly once; afterwards nothing enters its isolate and nothing leaves it. */
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

/** Prefix of messages for the slot itself: control messages, and realm timers. */
export const CONTROL_PREFIX = '{"method":';
/** An end with a result is the last message of its entry; one with an error may come earlier. */
const RESULT_PREFIX = '{"jsonrpc":"2.0","method":"end","params":{"ok":true';
const FAILURE_PREFIX = '{"jsonrpc":"2.0","method":"end","params":{"ok":false';

export interface RunOutput {
  write(...texts: string[]): void;
  finished(): void;
}

export interface Run {
  /** Takes `start` first, then replies. */
  deliver(text: string): void;
  /** Milliseconds until the run continues without a message: 0 in the next turn, Infinity never. */
  readonly waitMs: number;
}

interface EmbedderMessage {
  method: string;
  params: { id: number; ms: number; at: number; bytes: number };
}

/** Interval at which V8 continues background work that a script may have started. */
const TASKS_EVERY_MS = 5;
type EnterIsolate = () => ReturnType<PreparedIsolate["receive"]>;

/** `hasTasks`: scripts may use WebAssembly, which V8 compiles in the background. */
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
      // `done` is sent together with it: one write wakes the host once.
      over = true;
      heldEnd = text;
    } else {
      output.write(text);
      over = text.startsWith(FAILURE_PREFIX);
    }
    return undefined;
  };

  /** Handles timers and attachments, and returns the text of attachments and awaited replies. */
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
        // Other frames may come first.
        const putBack = entering ? holdAttached() : () => {};
        enter(() => {
          putBack();
          return isolate.receive(text, backstopMs);
        });
        return;
      }
      started = true;
      // A stopped run may have left its last write unfinished.
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
