/**
 * The process child: boots, locks itself down, sends `booted` and `ready`, waits for one `start`, runs the script to
 * its end and waits to be killed. Trusted until `start`; nothing here may depend on a script. Every run pays for each
 * millisecond spent here.
 */
import { Buffer } from "node:buffer";
import { closeSync, readSync } from "node:fs";
import { performAttacks } from "../jail/attack.ts";
import { serveForks } from "../jail/fork.ts";
import { mapFile, openEventLoop, openKernel, preparePoll } from "../jail/kernel/syscalls.ts";
import { lockKernel } from "../jail/lock-self.ts";
import type { StartParams } from "../wire/protocol.ts";
import { decodeBootOptions } from "./boot-options.ts";
import {
  announceAttachment,
  closeInherited,
  isReading,
  leave,
  leaveWith,
  notify,
  PROTOCOL,
  readFrame,
  readLater,
  readPackages,
  readReply,
  takeAttached,
  takeAttachmentPiece,
  takeFrame,
  warmUpFrames,
  writeFrames,
} from "./bridge.ts";
import { createScriptContext, type ScriptContext } from "./contexts.ts";
import { lockDown, lockDownZygote } from "./lockdown.ts";
import { cutLibraries, type RealmHead } from "./realm-pack.ts";
import { createTimers } from "./timers.ts";
import { prepareCollection, replyToWarmUp, WARM_UP_CODE, WARM_UP_START } from "./warm-up.ts";

declare const CYRNEL_HEAD: RealmHead;
declare const CYRNEL_FILE: number;

const END_PREFIX = '{"jsonrpc":"2.0","method":"end"';
const EMBEDDER_PREFIX = '{"method":';

interface EmbedderMessage {
  method: string;
  params: { id: number; ms: number; at: number; bytes: number };
}

/** Time between turns in which V8 does background work that a script may have started. */
const ENGINE_EVERY_MS = 5;
const MAX_WAIT_MS = 60_000;
/** A fork waits this long for its script before it warms up. Only pooled children wait longer. */
const BEFORE_WARM_UP_MS = 5;

const options = decodeBootOptions(process.argv[2]);
const version = process.version;
const timers = createTimers((id) => receive(`{"method":"timer","params":{"id":${id}}}`));
const { setImmediate } = globalThis;
let hasEnded = false;
let isTurnDue = false;
let hasStarted = false;
let makesCodeCache = false;

/** Returns the text of a reply, or of received bytes, if the realm asked for one. */
function write(json: string): string | undefined {
  if (hasEnded || takeAttachmentPiece(json)) return undefined;
  if (json.startsWith(EMBEDDER_PREFIX)) return serve(JSON.parse(json));
  if (json.startsWith(END_PREFIX)) {
    hasEnded = true;
    if (makesCodeCache) writeCodeCaches();
  }
  if (afterWarmUp === null) writeFrames(json);
  else warmUpFrames(json, replyToWarmUp(json));
  return undefined;
}

/** Sends the code cache of a package that was evaluated instead of a script. */
function writeCodeCaches(): void {
  for (const { digest, data } of present.makeCodeCaches()) {
    notify("codeCache", { digest, data: data.toString("base64") });
  }
}

function serve({ method, params }: EmbedderMessage): string | undefined {
  if (method === "wait") return isReading ? undefined : readReply(params.id);
  if (method === "take") return takeAttached(params.at);
  if (method === "attach") announceAttachment(params.bytes);
  else if (method === "clear") timers.clear(params.id);
  // The realm never arms that many timers, so it was taken over.
  else if (!timers.arm(params.id, params.ms)) leave(70);
  return undefined;
}

function receive(json: string, main?: unknown): void {
  present.realm.receive(json, main);
  takeTurnSoon();
}

/** Takes a turn once the microtasks of the last one have run. */
function takeTurnSoon(): void {
  if (isTurnDue) return;
  isTurnDue = true;
  setImmediate(takeTurn);
}

function takeTurn(): void {
  isTurnDue = false;
  present.realm.turn();
  if (hasEnded) {
    if (afterWarmUp === null) waitForTheKill();
    afterWarmUp();
    return;
  }
  if (isReading) return;
  // Handles one message at a time, once everything that the last one started has settled.
  const next = takeFrame();
  if (next !== null) receive(next);
  // Without a timer, only a reply can continue the script.
  else if (timers.armed === 0 && !options.allowWasm) receive(readFrame());
  else if (poll === null) readLater(receive);
  else if (poll(Math.min(timers.nextInMs, options.allowWasm ? ENGINE_EVERY_MS : MAX_WAIT_MS)))
    receive(readFrame());
  else takeTurnSoon();
}

/** After the end, nothing may run here. End of input means that the server is gone. */
function waitForTheKill(): never {
  for (;;) readFrame();
}

/** Reads the complete file, which adds 0.8 ms to a start compared with reading only the needed parts. */
function readPack(): Buffer {
  const bytes = Buffer.allocUnsafeSlow(CYRNEL_HEAD.sizeBytes);
  return bytes.subarray(0, readSync(CYRNEL_FILE, bytes, 0, bytes.length, 0));
}

closeInherited(options.closeFds);
process.on("unhandledRejection", (reason, promise) => {
  present.realm.reject(reason, promise);
  takeTurnSoon();
});
process.on("rejectionHandled", (promise) => present.realm.handled(promise));
// The error may be an object of the host realm and must not reach the script, whose finalizer may have caused it.
process.on("uncaughtException", (error) => {
  if (!hasStarted) leaveWith(error);
  present.realm.fail("An exception was thrown outside of the script's own calls.");
  takeTurnSoon();
});
const kernel = options.lock === null ? null : openKernel();
/** Null without the jail. A libuv thread then waits for messages. */
const poll = kernel === null ? null : preparePoll(kernel, 0);
const pack = kernel === null ? readPack() : mapFile(CYRNEL_FILE, CYRNEL_HEAD.sizeBytes);
closeSync(CYRNEL_FILE);
const prepare = () =>
  createScriptContext({ core: CYRNEL_HEAD.core, libraries: cutLibraries(pack, CYRNEL_HEAD) }, write, {
    eval: options.allowEval,
    wasm: options.allowWasm,
  });
let present: ScriptContext;
let afterWarmUp: (() => void) | null = null;

/** Runs a fixed script, once per context. */
function warmUp(context: ScriptContext, then: () => void): void {
  present = context;
  afterWarmUp = () => {
    afterWarmUp = null;
    hasEnded = false;
    then();
  };
  receive(WARM_UP_START, context.compile(WARM_UP_CODE));
}

/** Prepares what forks share, and forks. The rest runs in each fork. */
function becomeZygote(): void {
  const { lock } = options;
  if (kernel === null || lock === null) leaveWith("a zygote needs the jail");
  const own = prepare();
  own.realm.preload();
  const spare = prepare();
  const collect = prepareCollection();
  const loop = openEventLoop();
  warmUp(prepare(), () => {
    const lockDownFork = lockDownZygote();
    notify("booted", { protocol: PROTOCOL, node: version });
    notify("ready", { layers: [0], codeCache: own.isCacheAccepted });
    collect();
    serveForks(kernel, lock.parentPid, loop, notify);
    lockSelf(() => own, lockDownFork);
    // Skipped by a fork whose script has already arrived.
    if (poll?.(BEFORE_WARM_UP_MS)) awaitStart(own);
    else warmUp(spare, () => awaitStart(own));
  });
}

/** Locks this process, from outside and from inside, and reports that. */
function lockSelf(finish: () => ScriptContext, lockDown: () => boolean): ScriptContext {
  const attack = (phase: "birth" | "locked") =>
    kernel === null || !options.attacks ? undefined : performAttacks(kernel, options.attacks[phase]);
  const birth = attack("birth");
  if (kernel !== null && options.lock !== null) lockKernel(options.lock, kernel);
  const locked = attack("locked");
  // The host checks this process while the script's context is prepared here.
  notify("booted", {
    protocol: PROTOCOL,
    node: version,
    ...(birth !== undefined && locked !== undefined ? { answers: { birth, locked } } : {}),
  });
  const context = finish();
  const isLocked = lockDown();
  notify("ready", {
    layers: [0, ...(isLocked ? [1] : []), ...(options.lock === null ? [] : [3])],
    codeCache: context.isCacheAccepted,
    ...(options.isZygote && { isFork: true }),
  });
  return context;
}

function awaitStart(context: ScriptContext): void {
  present = context;
  const start = readFrame();
  const { params } = JSON.parse(start) as { params: StartParams };
  context.givePackages(readPackages(params.packages));
  makesCodeCache = params.makesCodeCache === true;
  hasStarted = true;
  receive(start, context.compile(params.code));
}

if (options.isZygote) becomeZygote();
else awaitStart(lockSelf(prepare, lockDown));
