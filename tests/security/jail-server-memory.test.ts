/**
 * The server's own memory, and the keys it was started with, which a program of the same user would find in /proc. As an
 * unprivileged user; root may read everything.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MainProcess, startMain } from "../integration/harness/main-process.ts";

const UID = process.getuid?.() === 0 ? 1000 : (process.getuid?.() ?? -1);
const KEY = "planted-0123456789-abcdefghij-key";
const owner = { uid: UID, gid: UID };
const HIDDEN = ["environ", "maps", "mem", "auxv", "fd/0", "cwd"];
const READER = `const { closeSync, openSync, readFileSync, readlinkSync, readdirSync } = require("node:fs");
const answers = {};
for (const name of ${JSON.stringify(HIDDEN)}) {
  const path = "/proc/" + process.argv[1] + "/" + name;
  try {
    if (name === "cwd") readlinkSync(path);
    else closeSync(openSync(path));
    answers[name] = "read";
  } catch (error) {
    answers[name] = error.code;
  }
}
try { answers.key = readFileSync("/proc/" + process.argv[1] + "/environ", "latin1").includes(${JSON.stringify(KEY)}); } catch { answers.key = false; }
console.log(JSON.stringify(answers));`;

/** What another program of the same user gets. */
async function readAsNeighbour(pid: number | undefined): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", READER, `${pid}`], owner);
  return JSON.parse(stdout);
}

describe.runIf(process.platform === "linux")("the memory of the server", () => {
  let folder = "";
  let main: MainProcess;
  let plain: ChildProcess;
  let url = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "cyrnel-memory-"));
    await chown(folder, UID, UID);
    const environment = { CYRNEL_API_KEY: KEY, CYRNEL_DATA_DIR: folder };
    plain = spawn(process.execPath, ["-e", "process.stdin.resume()"], { ...owner, env: environment });
    main = startMain({ environment, uid: UID });
    url = await main.listening();
  });
  afterAll(async () => {
    plain?.kill("SIGKILL");
    main?.child.kill("SIGTERM");
    await main?.ended();
    await rm(folder, { recursive: true, force: true });
  });

  it("would be open as that of any program is", async () => {
    const answers = await readAsNeighbour(plain.pid);
    expect(answers).toMatchObject({ key: true, environ: "read", mem: "read", maps: "read" });
  });

  it("is closed to other programs of its user", async () => {
    const { key, ...answers } = await readAsNeighbour(main.child.pid);
    expect(key).toBe(false);
    expect(Object.keys(answers)).toEqual(HIDDEN);
    for (const answer of Object.values(answers)) expect(answer).toBe("EACCES");
  });

  it("is not missed by the server: runs are jailed, measured and limited as before", async () => {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    const run = async (code: string, options = {}) => {
      const body = JSON.stringify({ code, block: true, options });
      return (await fetch(`${url}/processes`, { method: "POST", headers, body })).json();
    };
    const environment = await (await fetch(`${url}/environment`, { headers })).json();
    expect(environment).toMatchObject({ isolation: { level: "strict" } });
    expect(await run("return 1")).toMatchObject({ exitState: "success", result: 1 });
    const grow = "const held = []; for (;;) held.push(new Uint8Array(4 << 20).fill(1));";
    expect(await run(grow, { memoryMb: 48 })).toMatchObject({ reason: "memory_limit" });
    expect(await run("for (;;);", { cpuMs: 200 })).toMatchObject({ reason: "cpu_limit" });
  });
});
