/** The peers: which, in which version, how they are set up, and what they were not made for. */
import type { PeerName } from "./host.ts";

export interface Peer {
  name: PeerName;
  title: string;
  /** Name and exact version of the package that is fetched. */
  fetched?: string;
  /** Also needs the programs of these Debian packages, unless they are installed. */
  programs?: readonly string[];
  /** Flags of Node for the host. */
  flags?: readonly string[];
  setUp: string;
  notMadeFor: string;
}

export const PEERS: readonly Peer[] = [
  {
    name: "bare-node",
    title: "bare `node` per run",
    setUp: "a process per run, empty environment, heap limit, time limit, at most 1 MiB of output",
    notMadeFor: "it is no sandbox: a script can do what the user who started it can do",
  },
  {
    name: "node-vm-worker",
    title: "`node:vm` in a worker",
    setUp:
      "a worker and a context per run, empty environment, resource limits, no code from strings, ended by a timer",
    notMadeFor: "its documentation says it is no security mechanism",
  },
  {
    name: "isolated-vm",
    title: "raw `isolated-vm` 7.0.1",
    flags: ["--no-node-snapshot"],
    setUp:
      "an isolate per run, its memory and time limits, a timer that disposes of it, one function for output",
    notMadeFor: "no Node, no TypeScript, no timers; its documentation asks for a process round it",
  },
  {
    name: "secure-exec",
    title: "`secure-exec` 0.2.21",
    fetched: "secure-exec@0.2.21",
    setUp:
      "`init()` once, then `evaluate`: a fresh virtual machine per run, default permissions, heap and time limits",
    notMadeFor:
      "short runs: each gets a virtual file system and a Node of its own, where `npm install` works; it can keep one for many runs",
  },
  {
    name: "sandbox-runtime",
    title: "`sandbox-runtime` 0.0.83 round `node`",
    fetched: "@anthropic-ai/sandbox-runtime@0.0.83",
    programs: ["bubblewrap", "socat", "ripgrep", "libcap2", "libwrap0"],
    setUp:
      "no host allowed, nothing to write, home and the host's folder not to read; Node with a heap limit, ended by a timer",
    notMadeFor: "limits of memory and processor time, and many short runs: it goes round an agent's commands",
  },
  {
    name: "deno",
    title: "`deno run` 2.9.6",
    fetched: "deno@2.9.6",
    setUp: "a process per run, no permission, no prompt, heap limit, ended by a timer",
    notMadeFor: "limits: its permissions are about what a program reaches, not what it uses",
  },
  {
    name: "cyrnel-process",
    title: "Cyrnel over HTTP, `typescript-process`",
    setUp: "as `npm start` starts it; each run is an HTTP request, stored in Postgres",
    notMadeFor: "scripts that need Node's own modules or packages",
  },
  {
    name: "cyrnel-ivm",
    title: "Cyrnel over HTTP, `typescript-ivm`",
    setUp: "the same server, the environment enabled",
    notMadeFor: "the same; its runs share a process, one after the other",
  },
];
