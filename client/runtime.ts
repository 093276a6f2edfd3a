/** One way to run scripts, on a server or in this program. */
import { createLocalRuntime } from "#local-runtime";
import type { ClientOptions } from "./client.ts";
import type { LocalOptions, LocalRuntime } from "./kernel/local-model.ts";
import { createRemoteRuntime, type RemoteRuntime } from "./kernel/remote.ts";

/** `{ url, key }` for a server; `{ local: true, … }` for this program, which has to be Node. */
export function createRuntime(options: LocalOptions): LocalRuntime;
export function createRuntime(options: ClientOptions): RemoteRuntime;
export function createRuntime(options: ClientOptions | LocalOptions): RemoteRuntime | LocalRuntime {
  return "local" in options ? createLocalRuntime(options) : createRemoteRuntime(options);
}
