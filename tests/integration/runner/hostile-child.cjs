/**
 * A child that does not play by the rules: what it does is its first argument. It says `booted` and `ready` like a real one unless
 * told otherwise, and misbehaves once it has been given a run.
 */
const fs = require("node:fs");

const behaviour = process.argv[2];
for (const fd of JSON.parse(process.argv[3])) fs.closeSync(fd);

function frame(text) {
  const body = Buffer.isBuffer(text) ? text : Buffer.from(text);
  const header = Buffer.alloc(4);
  header.writeUInt32BE(body.length);
  return Buffer.concat([header, body]);
}
function write(bytes) {
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(1, bytes, at);
}
const say = (message) => write(frame(JSON.stringify({ jsonrpc: "2.0", ...message })));
const booted = (changes = {}) =>
  say({ method: "booted", params: { protocol: 9, node: process.version, ...changes } });
const ready = (changes = {}) =>
  say({ method: "ready", params: { layers: [0, 1], codeCache: true, ...changes } });
/** The header of a frame with bytes beside its JSON, which are to follow. */
function announceAttachment(jsonBytes, attachedBytes) {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(jsonBytes + 0x80000000);
  header.writeUInt32BE(attachedBytes, 4);
  return header;
}
function sayWith(message, attachment) {
  const json = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  write(Buffer.concat([announceAttachment(json.length, attachment.length), json, attachment]));
}
const call = (id) => ({ id, method: "invoke", params: { serviceId: "s", toolId: "t", parameters: {} } });
const end = { method: "end", params: { ok: true, result: 1 } };
const stdout = (text) => ({ method: "stdout", params: { text } });
function waitForStart() {
  const bytes = Buffer.alloc(1 << 20);
  if (fs.readSync(0, bytes) === 0) process.exit(0);
}
function sleepForever() {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 << 30);
}

/** Instead of `ready`. */
const beforeReady = {
  silent: sleepForever,
  exit: () => {
    fs.writeSync(2, "something is missing here\n");
    process.exit(3);
  },
  abort: () => process.abort(),
  garbage: () => write(Buffer.from("Segmentation fault\n".repeat(100))),
  "not-booted": () => say(stdout("hello")),
  "ready-unbooted": ready,
  "not-ready": () => {
    booted();
    say(stdout("hello"));
  },
  "booted-twice": () => {
    booted();
    booted();
    ready();
  },
  "exit-booted": () => {
    booted();
    process.exit(4);
  },
  "booted-attached": () => {
    sayWith({ method: "booted", params: { protocol: 9, node: process.version } }, Buffer.from("x"));
    ready();
  },
  "old-protocol": () => {
    booted({ protocol: 0 });
    ready();
  },
  "no-realm": () => {
    booted();
    ready({ layers: [1] });
  },
  "no-permissions": () => {
    booted();
    ready({ layers: [0, 3] });
  },
  "other-node": () => {
    booted({ node: "v1.2.3" });
    ready();
  },
};

/** After `ready`, before a run. */
const whileIdle = {
  "idle-exit": () => process.exit(0),
  "idle-speaks": () => say(stdout("too early")),
  "idle-dies-later": () => setTimeout(() => process.exit(0), 100),
};

/** After `start`. */
const inRun = {
  "run-exit": () => process.exit(7),
  "run-exit-after-output": () => {
    say(stdout("x".repeat(100_000)));
    process.exit(0);
  },
  "run-abort": () => process.abort(),
  "run-segv": () => process.kill(process.pid, "SIGSEGV"),
  "run-ill": () => process.kill(process.pid, "SIGILL"),
  "run-sys": () => process.kill(process.pid, "SIGSYS"),
  "run-xcpu": () => process.kill(process.pid, "SIGXCPU"),
  "run-kill": () => process.kill(process.pid, "SIGKILL"),
  "run-heap": () => {
    fs.writeSync(2, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n");
    process.abort();
  },
  "run-garbage": () => write(Buffer.from("\u0000\u0000\u0000\u0005{{{{{")),
  "run-bad-utf8": () => write(frame(Buffer.from([0x22, 0xff, 0xfe, 0x22]))),
  "run-huge-header": () => {
    write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    sleepForever();
  },
  "run-half-frame": () => {
    write(frame("x".repeat(1000)).subarray(0, 500));
    sleepForever();
  },
  "run-huge-attachment": () => {
    write(announceAttachment(100, 262_145));
    sleepForever();
  },
  "run-empty-attachment": () => {
    write(announceAttachment(100, 0));
    sleepForever();
  },
  "run-attached-to-output": () => sayWith(stdout("x"), Buffer.alloc(70_000)),
  "run-attached-to-call": () => sayWith(call(1), Buffer.from("x")),
  "run-attached-twice": () => {
    const params = { name: "a", write: 1, mode: "replace", text: "x" };
    sayWith({ id: 1, method: "writeFile", params }, Buffer.from("x"));
  },
  "run-attached-to-end": () => sayWith(end, Buffer.from("x")),
  "run-deep": () =>
    write(frame(`{"jsonrpc":"2.0","method":"end","params":{"ok":true,"result":${"[".repeat(500_000)}`)),
  "run-forged-id": () => {
    say(call(5));
    say(call(4));
  },
  "run-endless": () => {
    for (;;) say(stdout("x".repeat(60_000)));
  },
  "run-endless-tiny": () => {
    const many = Buffer.concat(
      new Array(2000).fill(frame(JSON.stringify({ jsonrpc: "2.0", ...stdout("") }))),
    );
    for (;;) write(many);
  },
  "run-after-end": () => {
    write(Buffer.concat([end, end].map((message) => frame(JSON.stringify({ jsonrpc: "2.0", ...message })))));
    sleepForever();
  },
  "run-end-and-stay": () => {
    say(end);
    sleepForever();
  },
  "run-end-and-flood": () => {
    say(end);
    for (;;) say(stdout("x".repeat(60_000)));
  },
  "run-engine-flood": () => {
    const text = Buffer.alloc(1 << 20, "e");
    for (let i = 0; i < 64; i++) {
      try {
        fs.writeSync(2, text);
      } catch {
        break;
      }
    }
    say(end);
  },
  "run-closes-output": () => {
    fs.closeSync(1);
    sleepForever();
  },
  "run-calls-and-never-reads": () => {
    for (let id = 1; id <= 32; id++) say(call(id));
    sleepForever();
  },
  "run-silent": sleepForever,
};

if (behaviour in beforeReady) {
  beforeReady[behaviour]();
} else {
  booted();
  ready();
  if (behaviour in whileIdle) {
    whileIdle[behaviour]();
    setTimeout(() => {}, 1 << 30);
  } else {
    waitForStart();
    inRun[behaviour]();
    setTimeout(() => {}, 1 << 30);
  }
}
