/**
 * `process` for packages: constants that reveal nothing about the host, and functions that scripts could write
 * themselves.
 */
const stream = {
  isTTY: false,
  columns: 80,
  fd: 1,
  write(text: unknown): boolean {
    console.log(String(text).replace(/\n$/, ""));
    return true;
  },
  on: returnsItself,
  once: returnsItself,
};

function returnsItself(this: unknown): unknown {
  return this;
}

function unavailable(name: string): () => never {
  return () => {
    throw new Error(`process.${name} is not available in a script.`);
  };
}

function hrtime(before?: [number, number]): [number, number] {
  const ms = performance.now();
  let seconds = Math.floor(ms / 1000);
  let nanoseconds = Math.floor((ms % 1000) * 1e6);
  if (before !== undefined) {
    seconds -= before[0];
    nanoseconds -= before[1];
    if (nanoseconds < 0) {
      seconds--;
      nanoseconds += 1e9;
    }
  }
  return [seconds, nanoseconds];
}
hrtime.bigint = () => BigInt(Math.floor(performance.now() * 1e6));

export const process = {
  env: {} as Record<string, string | undefined>,
  argv: [] as string[],
  argv0: "",
  execArgv: [] as string[],
  execPath: "",
  title: "script",
  browser: true,
  platform: "linux",
  arch: "",
  pid: 1,
  ppid: 0,
  version: "",
  versions: {} as Record<string, string>,
  release: {},
  features: {},
  exitCode: undefined,
  stdout: stream,
  stderr: { ...stream, fd: 2 },
  stdin: { ...stream, fd: 0 },
  nextTick(callback: (...args: unknown[]) => void, ...args: unknown[]): void {
    queueMicrotask(() => callback(...args));
  },
  cwd: () => "/",
  chdir: unavailable("chdir"),
  umask: () => 0o22,
  uptime: () => performance.now() / 1000,
  hrtime,
  memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
  emitWarning() {},
  exit: unavailable("exit"),
  abort: unavailable("abort"),
  kill: unavailable("kill"),
  binding: unavailable("binding"),
  on: returnsItself,
  once: returnsItself,
  off: returnsItself,
  addListener: returnsItself,
  removeListener: returnsItself,
  removeAllListeners: returnsItself,
  prependListener: returnsItself,
  emit: () => false,
  listeners: () => [],
  listenerCount: () => 0,
};
