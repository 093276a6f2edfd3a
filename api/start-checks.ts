/** What a start would stumble over later, after a database and keys have been made: looked at first, and said in one sentence. */
import { once } from "node:events";
import { mkdir, mkdtemp, rmdir, stat } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import type { Config } from "./config.ts";

/** Another start with the same settings fails too. The message is for the operator. */
export class UnusableDataDirectory extends Error {
  override readonly name = "UnusableDataDirectory";
}

/** Rejects as `listen` will: with code `EADDRINUSE`, for example. */
export async function requireFreePort({ host, port }: Pick<Config, "host" | "port">): Promise<void> {
  if (port === 0) return;
  const server = createServer().listen({ host, port });
  await once(server, "listening");
  server.close();
  await once(server, "close");
}

/** Makes the directory where it is missing. Throws UnusableDataDirectory. */
export async function requireDataDirectory(directory: string): Promise<void> {
  const whole = path.resolve(directory);
  try {
    await makeStepByStep(whole);
    await rmdir(await mkdtemp(path.join(whole, ".writable-")));
  } catch (error) {
    throw new UnusableDataDirectory(
      `The data directory ${whole} cannot be used: ${describe(error as NodeJS.ErrnoException)}. Set CYRNEL_DATA_DIR to a folder that this user may write to, or DATABASE_URL to a Postgres of yours.`,
      { cause: error },
    );
  }
}

/** Node's recursive `mkdir` never ends below /proc, where no folder can be made. */
async function makeStepByStep(directory: string): Promise<void> {
  const missing: string[] = [];
  let at = directory;
  for (;;) {
    const found = await stat(at).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (found?.isDirectory()) break;
    if (found !== null) throw Object.assign(new Error(), { code: "ENOTDIR", path: at });
    missing.push(at);
    at = path.dirname(at);
  }
  for (const folder of missing.reverse()) {
    // Others may walk through it (Postgres may run as another user than root) but not list it.
    await mkdir(folder, { mode: 0o711 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

function describe({ code, path: where = "it", message }: NodeJS.ErrnoException): string {
  switch (code) {
    case "ENOTDIR":
    case "EEXIST":
      return `${where} is not a folder`;
    case "EROFS":
      return "it is on a read-only file system";
    case "EACCES":
    case "EPERM":
      return `this user may not write to ${path.dirname(where)}`;
    case "ENOENT":
      return `no folder can be made in ${path.dirname(where)}`;
    case "ENOSPC":
      return "its disk is full";
    default:
      return message;
  }
}
