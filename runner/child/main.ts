/**
 * The process child: boots, locks itself down, says `booted` and then `ready`, waits for one `start`, runs the script to its end and
 * waits to be killed. Trusted until `start`; nothing here may depend on what a script does. Every millisecond here is
 * paid by each run.
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
  warmUpFrames,
  takeAttached,
  takeAttachmentPiece,
  takeFrame,
  writeFrames,
} from "./bridge.ts";
import { createScriptContext, type ScriptContext } from "./contexts.ts";
import { lockDown, lockDownZygote } from "./lockdown.ts";
import { cutLibraries, type RealmHead } from "./realm-pack.ts";
import { replyToWarmUp, prepareCollection, WARM_UP_CODE, WARM_UP_START } from "./warm-up.ts";
import { createTimers } from "./timers.ts";

/** What load.ts calls this code with. */
declare const CYRNEL_HEAD: RealmHead;
declare const CYRNEL_FILE: number;

const END_PREFIX = '{"jsonrpc":"2.0","method":"end"';
const EMBEDDER_PREFIX = '{"method":';

interface EmbedderMessage {
  method: string;
  params: { id: number; ms: number; at: number; bytes: number };
}

/** How often V8 may go on with work of its own, where a script may have started some. */
const ENGINE_EVERY_MS = 5;
const MAX_WAIT_MS = 60_000;
/** Children of a pool wait longer than this for their script. */
const BEFORE_WARM_UP_MS = 5;

const options = decodeBootOptions(process.argv[2]);
const version = process.version;
const timers = createTimers((id) => receive(`{"method":"timer","params":{"id":${id}}}`));
// Kept from before the lockdown, which takes it away.
const { setImmediate } = globalThis;
let hasEnded = false;
let isTurnDue = false;
let hasStarted = false;
let makesCodeCache = false;

/** Answers the text that the realm asks for: of a reply it waits for, of bytes that came; else nothing. */
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

/** Of a child that evaluates a package and no script. */
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
  // More than the realm arms: it was taken over.
  else if (!timers.arm(params.id, params.ms)) leave(70);
  return undefined;
}

function receive(json: string, main?: unknown): void {
  present.realm.receive(json, main);
  takeTurnSoon();
}

/** After the microtasks of what just ran. */
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
  // One message at a time: what a message sets going has come to rest before the next one.
  const next = takeFrame();
  if (next !== null) receive(next);
  // Without a timer only a reply can go on with the script.
  else if (timers.armed === 0 && !options.allowWasm) receive(readFrame());
  else if (poll === null) readLater(receive);
  else if (poll(Math.min(timers.nextInMs, options.allowWasm ? ENGINE_EVERY_MS : MAX_WAIT_MS)))
    receive(readFrame());
  else takeTurnSoon();
}

/** The run is over: nothing may run here any more, and end of input means that the server is gone. */
function waitForTheKill(): never {
  for (;;) readFrame();
}

/** The whole file; costs a start 0.8 ms more than the parts that are needed. */
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
// The value may be an object of the host realm, so it must not reach the script's; a finalizer of the script may be the cause.
process.on("uncaughtException", (error) => {
  if (!hasStarted) leaveWith(error);
  present.realm.fail("An exception was thrown outside of the script's own calls.");
  takeTurnSoon();
});
const kernel = options.lock === null ? null : openKernel();
/** Null without the jail: a thread of libuv waits for messages then. */
const poll = kernel === null ? null : preparePoll(kernel, 0);
const pack = kernel === null ? readPack() : mapFile(CYRNEL_FILE, CYRNEL_HEAD.sizeBytes);
closeSync(CYRNEL_FILE);
const prepare = () =>
  createScriptContext({ core: CYRNEL_HEAD.core, libraries: cutLibraries(pack, CYRNEL_HEAD) }, write, {
    eval: options.allowEval,
    wasm: options.allowWasm,
  });
/** The context of the run or of its warm-up. */
let present: ScriptContext;
/** Set during a warm-up. */
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

/** Prepares all that forks share, and forks. What follows goes on in each fork. */
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
    // Only while there is time: one that is given its script at once is not kept from it.
    if (poll?.(BEFORE_WARM_UP_MS)) awaitStart(own);
    else warmUp(spare, () => awaitStart(own));
  });
}

/** Locks this process, from outside and from inside, and says so. */
function lockSelf(finish: () => ScriptContext, lockDown: () => boolean): ScriptContext {
  const attack = (phase: "birth" | "locked") =>
    kernel === null || !options.attacks ? undefined : performAttacks(kernel, options.attacks[phase]);
  const birth = attack("birth");
  if (kernel !== null && options.lock !== null) lockKernel(options.lock, kernel);
  const locked = attack("locked");
  // The host looks at this process while it makes what a script will find.
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
