/**
 * A child without any wall that says what it was told to, byte for byte, and then goes away as it was told to. Its one
 * argument is the path of the plan; the bytes lie beside it.
 */
const fs = require("node:fs");

const { fds, chunks, reading, leaving } = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const bytes = fs.readFileSync(`${process.argv[2]}.bytes`);
for (const fd of fds) fs.closeSync(fd);

function write(data) {
  try {
    for (let at = 0; at < data.length; ) at += fs.writeSync(1, data, at);
  } catch {
    // The host does not listen any more: go on as planned, it must be able to end that too.
  }
}
function sleepForever() {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 << 30);
}
const LEAVE = {
  exit: () => process.exit(0),
  "exit-7": () => process.exit(7),
  abort: () => process.abort(),
  segv: () => process.kill(process.pid, "SIGSEGV"),
  kill: () => process.kill(process.pid, "SIGKILL"),
  "close-output": () => {
    fs.closeSync(1);
    sleepForever();
  },
  "close-input": () => {
    fs.closeSync(0);
    sleepForever();
  },
  silence: sleepForever,
  spin: () => {
    for (;;);
  },
};
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGXCPU", "SIGPIPE"]) process.on(signal, () => {});

for (const [method, params] of [
  ["booted", { protocol: 9, node: process.version }],
  ["ready", { layers: [0, 1], codeCache: true }],
]) {
  const said = Buffer.from(JSON.stringify({ jsonrpc: "2.0", method, params }));
  const header = Buffer.alloc(4);
  header.writeUInt32BE(said.length);
  write(Buffer.concat([header, said]));
}
if (fs.readSync(0, Buffer.alloc(1 << 20)) === 0) process.exit(0);

let at = 0;
let next = 0;
function sayNext() {
  if (next === chunks.length) return LEAVE[leaving]();
  write(bytes.subarray(at, at + chunks[next]));
  at += chunks[next++];
  if (reading === "all") setImmediate(sayNext);
  else sayNext();
}
if (reading === "all") process.stdin.on("data", () => {}).on("error", () => {});
setImmediate(sayNext);
