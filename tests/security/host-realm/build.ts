/** Builds the child without layer 0: the real one, with contexts.ts of this folder in it. */
import { closeSync, openSync, readSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { cutLibraries, encodeRealmPack, readRealmHead } from "#runner/child/realm-pack.ts";
import { DIST, ZYGOTE_FOLDER } from "#runner/paths.ts";

export interface HostRealmChild extends AsyncDisposable {
  /** For `createProcessEnvironment`. */
  readonly folder: string;
}

export async function buildHostRealmChild(): Promise<HostRealmChild> {
  const folder = await mkdtemp(join(tmpdir(), "cyrnel-host-realm-"));
  await chmod(folder, 0o755);
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "../../../runner/child/main.ts")],
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    target: "node26",
    logLevel: "error",
    plugins: [
      {
        name: "without-layer-0",
        setup({ onResolve }) {
          onResolve({ filter: /^\.\/contexts\.ts$/ }, () => ({
            path: join(import.meta.dirname, "contexts.ts"),
          }));
        },
      },
    ],
  });
  const code = outputFiles?.[0]?.text ?? "";
  const main = Buffer.from(`((require,CYRNEL_HEAD,CYRNEL_FILE)=>{${toAscii(code)}\n})`);
  const { core, libraries } = await readPack();
  const pack = encodeRealmPack({ main: { source: main, cache: Buffer.alloc(0) }, core, libraries });
  for (const built of [folder, join(folder, ZYGOTE_FOLDER)]) {
    await mkdir(built, { recursive: true });
    await writeFile(join(built, "realm.bin"), pack);
    await copyFile(join(DIST, "child.js"), join(built, "child.js"));
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

async function readPack() {
  const path = join(DIST, "realm.bin");
  const file = openSync(path, "r");
  const head = readRealmHead((length) => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, 0));
  });
  closeSync(file);
  return { core: head.core, libraries: cutLibraries(await readFile(path), head) };
}

/** The pack holds one byte for each character. */
function toAscii(code: string): string {
  return code.replace(
    /[^\0-\x7f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
