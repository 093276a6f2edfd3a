/**
 * Slot process entry: runs scripts one after another. argv: path of the native library, MB of prepared isolates,
 * child options.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { decodeBootOptions } from "#runner/child/boot-options.ts";
import {
  closeInherited,
  leave,
  leaveWith,
  notify,
  PROTOCOL,
  readFrame,
  readLater,
  takeFrame,
  writeFrames,
} from "#runner/child/bridge.ts";
import { dropPermissions } from "#runner/child/lockdown.ts";
import { openKernel, preparePoll } from "#runner/jail/kernel/syscalls.ts";
import { lockKernel } from "#runner/jail/lock-self.ts";
import type { BeginParams } from "../control.ts";
import { createIsolateFactory, type Library, type PreparedIsolate } from "./isolate.ts";
import { readRealmSource } from "./prelude.ts";
import { CONTROL_PREFIX, createRun, type Run } from "./run.ts";
import { warmUp } from "./warm-up.ts";

const MAX_WAIT_MS = 60_000;
const START_MEMBER = ',"start":';

const [libraryPath = "", aheadMb = "", optionsText] = process.argv.slice(2);
const options = decodeBootOptions(optionsText);

/** Loads the addon by its path, which needs no permission to read files. */
function loadLibrary(): Library {
  const module = { exports: {} as { ivm: Library } };
  process.dlopen(module, libraryPath);
  return module.exports.ivm;
}

/** Returns whether every permission was dropped, including the one to load another addon. */
function hasNoPermission(): boolean {
  if (!dropPermissions()) return false;
  try {
    process.dlopen({ exports: {} }, libraryPath);
    return false;
  } catch {
    return true;
  }
}

/** A slot that cannot lock itself exits before it sends `ready`. */
function lockOrEnd(): void {
  try {
    if (kernel !== null && options.lock !== null) lockKernel(options.lock, kernel);
  } catch (error) {
    leaveWith(error);
  }
}

closeInherited(options.closeFds);
const library = loadLibrary();
const factory = createIsolateFactory(library, readRealmSource(), options, warmUp);

const kernel = options.lock === null ? null : openKernel();
/** Without the jail, a libuv thread waits for messages. */
const poll = kernel === null ? null : preparePoll(kernel, 0);
let spare: PreparedIsolate | null = factory.prepare(Number(aheadMb));
lockOrEnd();
const isPermissionGone = hasNoPermission();
let run: Run | null = null;
let tidying: Promise<void> | null = null;

function begin(params: BeginParams, start: string): void {
  let isolate = spare;
  if (isolate?.memoryMb === params.memoryMb) spare = null;
  else isolate = factory.prepare(params.memoryMb);
  run = createRun(isolate, params, { write: writeFrames, finished }, options.allowWasm);
  run.deliver(start);
}

function finished(): void {
  run = null;
  // isolated-vm and V8 clean up in an event loop turn.
  tidying = new Promise((resolve) => {
    setImmediate(() => {
      tidying = null;
      writeFrames('{"method":"idle"}');
      // Done now rather than in a later turn: waiting for a message beside a timer costs a hop between threads.
      factory.fillCodeCaches();
      spare ??= factory.prepare(Number(aheadMb));
      resolve();
    });
  });
}

function handle(text: string): void {
  if (!text.startsWith(CONTROL_PREFIX)) {
    run?.deliver(text);
    return;
  }
  // `params` contains only numbers and comes first, so the first match is the `start` member.
  const from = text.indexOf(START_MEMBER);
  const { params } = JSON.parse(`${text.slice(0, from)}}`) as { params: BeginParams };
  begin(params, text.slice(from + START_MEMBER.length, -1));
}

/** Blocks for the next message unless a run timer is due first. */
async function next(): Promise<string> {
  for (let text = takeFrame(); ; text = takeFrame()) {
    if (text !== null) return text;
    if (tidying !== null) await tidying;
    const waitMs = run?.waitMs ?? Number.POSITIVE_INFINITY;
    if (waitMs === Number.POSITIVE_INFINITY) return readFrame();
    if (poll === null && waitMs > 0) return new Promise(readLater);
    if (poll?.(Math.min(waitMs, MAX_WAIT_MS))) return readFrame();
    await nextTurn();
  }
}

notify("booted", { protocol: PROTOCOL, node: process.version });
notify("ready", {
  layers: [0, ...(isPermissionGone ? [1] : []), ...(options.lock === null ? [] : [3])],
  codeCache: factory.hasCodeCache,
});

async function serve(): Promise<never> {
  for (;;) handle(await next());
}

void serve().catch(() => leave(0));
