/**
 * Attacks from the host's realm of a child, where Node's own API is at hand: each is the body of an async function of `host`
 * (process, builtin, Buffer, setTimeout, and system calls) and `target`. What it returns is its loot; a refusal is an error, or
 * nothing.
 */
import { join } from "node:path";
import { type SyscallName, syscallNumber } from "#runner/jail/seccomp/syscall-numbers.ts";

/** What the attacks aim at: things of the server, made by the test. */
export interface Targets {
  /** A file with the text `secret`. */
  file: string;
  /** A folder the attack may write to where nothing keeps it from it. */
  folder: string;
  /** A database of SQLite with a table `t`. */
  database: string;
  /** Listening on 127.0.0.1. */
  tcpPort: number;
  udpPort: number;
  unixPath: string;
  /** What a run can be forked from, and a process of another run. */
  zygotePid: number;
  siblingPid: number;
  /** Of memory that each of them has. */
  zygoteAddress: number;
  siblingAddress: number;
}

export interface HostProbe {
  steals: string;
  attack: string;
  /** It would do harm to the tests, or kills the one that tries it without a jail as well. */
  hasNoControl?: true;
}

const connect = (where: string) =>
  `return await new Promise((resolve, reject) => { const socket = host.builtin("net").connect(${where}, () => { socket.destroy(); resolve("connected"); }); socket.on("error", reject); });`;
const listen = (where: string) =>
  `return await new Promise((resolve, reject) => { const server = host.builtin("net").createServer().listen(${where}, () => { server.close(); resolve("listening"); }); server.on("error", reject); });`;

/** Of a system call with numbers, as addresses need a permission; what it answers is loot unless it is an error. */
const call = (name: SyscallName, ...args: string[]) => {
  const number = syscallNumber(name, process.arch === "arm64" ? "aarch64" : "x86_64");
  return `const answer = host.syscall(${[number, ...args].join()}); if (answer < 0) throw Error("errno " + -answer); return "answered " + answer;`;
};
const PTRACE_SEIZE = "0x4206";

/** What code that names another process of this server would do to it. */
const attacksOn = (who: "zygote" | "sibling", steals: string): Record<string, HostProbe> => {
  const pid = `target.${who}Pid`;
  const address = `target.${who}Address`;
  const of = (file: string) => `"/proc/" + ${pid} + "/${file}"`;
  return Object.fromEntries(
    Object.entries<[steals: string, attack: string]>({
      signal: ["the life", `host.process.kill(${pid}, 0); return "signalled";`],
      "signal-thread": ["the life, thread by thread", call("tgkill", pid, pid, "0")],
      "signal-by-pidfd": ["the life, by a descriptor", call("pidfd_open", pid, "0")],
      memory: [
        "the memory",
        `const { openSync, readSync } = host.builtin("fs"); return readSync(openSync(${of("mem")}, "r"), host.Buffer.alloc(8), 0, 8, ${address});`,
      ],
      layout: ["the layout", `return host.builtin("fs").readFileSync(${of("maps")}, "latin1").length;`],
      environment: [
        "the environment",
        `return host.builtin("fs").readFileSync(${of("environ")}, "latin1").length;`,
      ],
      input: ["the input", `return host.builtin("fs").openSync(${of("fd/0")}, "r") + " opened";`],
      descriptors: ["the names of the descriptors", `return host.builtin("fs").readdirSync(${of("fd")});`],
      "memory-by-call": [
        "the memory, by a system call",
        call("process_vm_readv", pid, "0", "0", "0", "0", "0"),
      ],
      trace: ["the registers, by tracing", call("ptrace", PTRACE_SEIZE, pid, "0", "0")],
      limits: ["the limits", call("prlimit64", pid, "7", "0", "0")],
    }).map(([name, [what, attack]]) => [`${who}.${name}`, { steals: `${what} of ${steals}`, attack }]),
  );
};

export const HOST_PROBES: Record<string, HostProbe> = {
  ...attacksOn("zygote", "what later runs are forked from"),
  ...attacksOn("sibling", "another run"),
  "file.read": {
    steals: "a file of the server",
    attack: `return host.builtin("fs").readFileSync(target.file, "utf8");`,
  },
  "file.read-by-promise": {
    steals: "a file of the server, past patched functions",
    attack: `return (await host.builtin("fs").promises.readFile(target.file)).toString();`,
  },
  "file.read-by-stream": {
    steals: "a file of the server, through the thread pool",
    attack: `let text = ""; for await (const part of host.builtin("fs").createReadStream(target.file)) text += part; return text;`,
  },
  "file.read-by-bytes-path": {
    steals: "a file by a path of bytes with dots in it",
    attack: `return host.builtin("fs").readFileSync(host.Buffer.from(target.folder + "/../" + target.file.split("/").at(-1)), "utf8");`,
  },
  "file.read-as-blob": {
    steals: "a file as a blob",
    attack: `return await (await host.builtin("fs").openAsBlob(target.file)).text();`,
  },
  "file.list": {
    steals: "the names in the root folder",
    attack: `return host.builtin("fs").readdirSync("/");`,
  },
  "file.existence": {
    steals: "whether a file exists",
    attack: `return host.builtin("fs").statSync(target.file).size;`,
  },
  "file.real-path": {
    steals: "whether a file exists, by a call the permission model forgets",
    attack: `return host.builtin("fs").realpathSync.native(target.file);`,
  },
  "file.require": {
    steals: "whether a module exists, and its code",
    attack: `return host.builtin("module").createRequire(target.folder + "/x.js").resolve(target.file);`,
  },
  "file.write": {
    steals: "the server's disk",
    attack: `host.builtin("fs").writeFileSync(target.folder + "/written", "x"); return "written";`,
  },
  "file.link": {
    steals: "a file by a link to it",
    attack: `host.builtin("fs").symlinkSync(target.file, target.folder + "/link"); return "linked";`,
  },
  "file.own-memory": {
    steals: "its own memory past its protection",
    attack: `return host.builtin("fs").openSync("/proc/self/mem", "r+");`,
  },
  "file.server-environment": {
    steals: "the environment of the server, with its keys",
    attack: `return host.builtin("fs").readFileSync("/proc/" + host.process.ppid + "/environ", "latin1").length;`,
  },
  "file.sqlite": {
    steals: "a database, by an API the permission model does not cover",
    attack: `const { DatabaseSync } = host.builtin("node:sqlite"); return new DatabaseSync(target.database).prepare("select * from t").all();`,
  },
  "file.heap-snapshot": {
    steals: "the server's disk, by a dump of the heap",
    attack: `return host.builtin("v8").writeHeapSnapshot(target.folder + "/heap.heapsnapshot");`,
  },
  "file.report": {
    steals: "the server's disk, by a diagnostic report",
    attack: `host.process.report.directory = target.folder; return host.process.report.writeReport("report.json") && host.builtin("fs").readFileSync(target.folder + "/report.json").length;`,
  },
  "file.folder": {
    steals: "another folder to stand in",
    attack: `host.process.chdir("/etc"); return host.process.cwd();`,
  },
  "network.tcp": { steals: "what listens beside the server", attack: connect(`target.tcpPort, "127.0.0.1"`) },
  "network.unix": { steals: "what listens on a socket of the server", attack: connect("target.unixPath") },
  "network.fetch": {
    steals: "what answers HTTP beside the server",
    attack: `return (await new Promise((resolve, reject) => host.builtin("http").get({ host: "127.0.0.1", port: target.tcpPort }, resolve).on("error", (error) => (error.code === "ECONNRESET" ? resolve({ statusCode: "reached" }) : reject(error))))).statusCode;`,
  },
  "network.listen": { steals: "a port of the server's machine", attack: listen(`0, "127.0.0.1"`) },
  "network.listen-unix": { steals: "a socket in a folder", attack: listen(`target.folder + "/socket"`) },
  "network.udp": {
    steals: "packets to anywhere",
    attack: `return await new Promise((resolve, reject) => { const socket = host.builtin("dgram").createSocket("udp4"); socket.on("error", reject); socket.send("x", target.udpPort, "127.0.0.1", (error) => { socket.close(); error ? reject(error) : resolve("sent"); }); });`,
  },
  "network.names": {
    steals: "names of the network",
    attack: `return (await host.builtin("dns").promises.lookup("localhost")).address;`,
  },
  "process.start": {
    steals: "a program",
    attack: `const { error, stdout } = host.builtin("child_process").spawnSync("/bin/echo", ["started"]); if (error) throw error; return String(stdout);`,
  },
  "process.fork": {
    steals: "a Node of its own",
    attack: `return host.builtin("child_process").execFileSync(host.process.execPath, ["-e", "console.log(1)"]).toString();`,
  },
  "process.worker": {
    steals: "a thread with permissions of its own",
    attack: `return await new Promise((resolve, reject) => new (host.builtin("worker_threads").Worker)("1", { eval: true }).on("exit", () => resolve("ran")).on("error", reject));`,
  },
  "process.replace": {
    steals: "another program in its place",
    attack: `host.process.execve("/bin/true", ["true"], {}); return "replaced";`,
    hasNoControl: true,
  },
  "process.signal-server": {
    steals: "the server's life",
    attack: `return host.process.kill(host.process.ppid, 0);`,
  },
  "process.signal-everyone": { steals: "everybody's life", attack: `return host.process.kill(-1, 0);` },
  "process.debug-server": {
    steals: "the server, by its debugger",
    attack: `host.process._debugProcess(host.process.ppid); return "asked";`,
    hasNoControl: true,
  },
  "process.slow-server": {
    steals: "the server's processor time",
    attack: `const { getPriority, setPriority } = host.builtin("os"); setPriority(host.process.ppid, getPriority()); return "set";`,
  },
  "process.inspector": {
    steals: "itself, by a debugger over the network",
    attack: `host.builtin("inspector").open(0, "127.0.0.1"); const url = host.builtin("inspector").url(); host.builtin("inspector").close(); return url;`,
  },
  "process.inspector-session": {
    steals: "itself, by a debugger in the process",
    attack: `const session = new (host.builtin("inspector").Session)(); session.connect(); return await new Promise((resolve, reject) => session.post("Runtime.evaluate", { expression: "1 + 1" }, (error, { result } = {}) => (error ? reject(error) : resolve(result.value))));`,
  },
  "code.addon": {
    steals: "native code",
    attack: `host.process.dlopen({ exports: {} }, target.file); return "loaded";`,
    hasNoControl: true,
  },
  "code.ffi": {
    steals: "native code through FFI",
    attack: `return typeof host.builtin("node:ffi").dlopen(null, { getpid: { return: "int32", arguments: [] } }).functions.getpid();`,
  },
  "code.wasi": {
    steals: "files through WASI",
    attack: `return typeof new (host.builtin("wasi").WASI)({ version: "preview1", preopens: { "/": "/" } });`,
  },
  "code.binding": {
    steals: "Node's inside",
    attack: `return typeof host.process.binding("fs").open;`,
  },
  "code.strings": { steals: "code made of a string", attack: `return Function("return 7")();` },
  "permission.ask-again": {
    steals: "its permissions",
    attack: `const { permission } = host.process; if (permission === undefined) return "all"; permission.has = () => true; return ["fs.read", "fs.write", "child", "worker", "net", "addon", "wasi", "inspector", "ffi"].filter((scope) => Object.getPrototypeOf(permission).has?.call(permission, scope)).join();`,
  },
  "secret.environment": {
    steals: "the environment of the server, as the child has it",
    attack: `return Object.keys(host.process.env).filter((name) => !["TZ", "UV_THREADPOOL_SIZE"].includes(name)).join();`,
  },
  "secret.descriptors": {
    steals: "a descriptor it inherited: a file, a socket or a folder",
    attack: `const { fstatSync, readlinkSync } = host.builtin("fs"); const found = []; for (let fd = 0; fd < 64; fd++) { try { const stat = fstatSync(fd); if (stat.isFile() || stat.isSocket() || stat.isDirectory()) found.push(fd + ":" + stat.mode); } catch {} } return found.join();`,
    hasNoControl: true,
  },
};

/** An attack as a script of the child without layer 0. A list, so that an empty loot is seen as one. */
export function toScript({ attack }: HostProbe, targets: Targets, others = "{}"): string {
  return `const target = { ...${JSON.stringify(targets)}, ...${others} }; try { return { loot: await (async () => { ${attack} })() }; } catch (error) { return { refused: String(error?.code ?? error?.message ?? error) }; }`;
}

const KERNEL_FILE = join(import.meta.dirname, "../../../runner/jail/kernel/syscalls.ts");
const FORKS_FILE = join(import.meta.dirname, "forks.ts");

/** The same as a program of a Node without any layer. What it is to attack of processes is one that it starts itself. */
export function toControl(probe: HostProbe, targets: Targets): string {
  if (!probe.attack.includes("Pid")) {
    return `const host = { process, Buffer, setTimeout, builtin: process.getBuiltinModule }; (async () => { ${toScript(probe, targets)} })().then((answer) => { console.log(JSON.stringify(answer)); process.exit(); });`;
  }
  return `(async () => {
    const { openKernel } = await import(${JSON.stringify(KERNEL_FILE)});
    const { readFirstAddress } = await import(${JSON.stringify(FORKS_FILE)});
    const host = { process, Buffer, setTimeout, builtin: process.getBuiltinModule, ...openKernel() };
    const file = ${JSON.stringify(targets.file)};
    const stdio = [host.builtin("fs").openSync(file, "r"), "pipe", "ignore"];
    const victim = host.builtin("child_process").spawn("/usr/bin/tail", ["-f", file], { env: { SECRET: "1" }, stdio });
    await new Promise((resolve) => victim.stdout.once("data", resolve));
    const pid = victim.pid, address = readFirstAddress(pid);
    const answer = await (async () => { ${toScript(probe, targets, "{ zygotePid: pid, siblingPid: pid, zygoteAddress: address, siblingAddress: address }")} })();
    console.log(JSON.stringify(answer));
    victim.kill("SIGKILL");
    process.exit();
  })();`;
}
