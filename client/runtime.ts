import { createLocalRuntime } from "#local-runtime";
import type { ClientOptions } from "./client.ts";
import type { LocalOptions, LocalRuntime } from "./kernel/local-model.ts";
import { createRemoteRuntime, type RemoteRuntime } from "./kernel/remote.ts";

/**
 * Pass `{ url, key }` for a server, or `{ local: true, … }` (alias `{ runtime: "local", … }`) to run scripts in this
 * program, which must be Node.
 * @throws TypeError for any other options
 */
export function createRuntime(options: LocalOptions): LocalRuntime;
export function createRuntime(options: ClientOptions): RemoteRuntime;
export function createRuntime(options: ClientOptions | LocalOptions): RemoteRuntime | LocalRuntime {
  const { local, runtime, url } = options as Partial<LocalOptions & ClientOptions>;
  if (runtime !== undefined && runtime !== "local") throw unknownForm(`runtime: ${JSON.stringify(runtime)}`);
  if (local === true || runtime === "local") {
    if (url !== undefined) throw unknownForm("both local and url");
    return createLocalRuntime(options as LocalOptions);
  }
  if (url === undefined) throw unknownForm("no url");
  return createRemoteRuntime(options as ClientOptions);
}

function unknownForm(found: string): TypeError {
  return new TypeError(
    `createRuntime takes { url, key } for a server, or { local: true, tools, … } for this program; found ${found}.`,
  );
}
