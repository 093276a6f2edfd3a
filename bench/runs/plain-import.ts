/**
 * What a package takes in a Node without any wall, as a yardstick: its bundle compiled from a code cache and its main module
 * evaluated, in a new process each time. As a program: `<bundle> <code cache> make|use`; `use` prints the milliseconds.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import vm from "node:vm";
import { median } from "../stats.ts";

const TIMES = 9;
const MAIN = ".";

/** `source`: an expression, the function that the bundle's main module is reached by. Milliseconds, the median of several. */
export async function measurePlainImport(source: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "cyrnel-plain-import-"));
  try {
    const bundle = join(folder, "bundle.js");
    await writeFile(bundle, source, "latin1");
    const run = (what: "make" | "use") =>
      promisify(execFile)(process.execPath, [import.meta.filename, bundle, join(folder, "cache"), what]);
    await run("make");
    const times: number[] = [];
    for (let time = 0; time < TIMES; time++) times.push(Number((await run("use")).stdout));
    return median(times);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [bundle = "", cache = "", what] = process.argv.slice(2);
  const source = await readFile(bundle, "latin1");
  const cachedData = what === "use" ? await readFile(cache) : undefined;
  const context = vm.createContext({
    performance,
    TextEncoder,
    TextDecoder,
    console,
    cyrnelNode: { process, Buffer },
  });
  const before = performance.now();
  const script = new vm.Script(source, { ...(cachedData && { cachedData }) });
  script
    .runInContext(context)(() => ({}))
    [MAIN]();
  const elapsed = performance.now() - before;
  if (script.cachedDataRejected === true) throw new Error("the code cache was not taken");
  if (what === "make") await writeFile(cache, script.createCachedData());
  else console.log(elapsed);
}
