/** Where isolated-vm's compiled part is: slots load it by its path, without the library's own loader, which reads files. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/**
 * The path of the build for this platform and this Node.
 * @throws an Error that says which build was expected where.
 */
export function findNativeLibrary(): string {
  const root = dirname(createRequire(import.meta.url).resolve("isolated-vm/package.json"));
  const libc = process.platform === "linux" ? (existsSync("/etc/alpine-release") ? ".musl" : ".glibc") : "";
  const folder = join(root, "prebuilds", `${process.platform}-${process.arch}`);
  const path = join(folder, `isolated-vm.abi${process.versions.modules}${libc}.node`);
  if (existsSync(path)) return path;
  throw new Error(
    `typescript-ivm needs ${path}, the build of isolated-vm for this platform and Node ${process.version}, and did not find it. Install the dependencies anew on this machine, or use typescript-process.`,
  );
}
