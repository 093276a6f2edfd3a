/** Probes that use a platform's interfaces to reach the host's surroundings. Each tries all ways to load a module. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Facts, openWorld, type PeerProbe, SECRET, SPELLED } from "./world.ts";

const CONTROL_MS = 20_000;

const MODULES = `
const loot = [];
const note = (value) => { const text = typeof value === "string" ? value : value instanceof Uint8Array ? new TextDecoder().decode(value) : JSON.stringify(value); if (text?.includes(${SPELLED})) loot.push(${SPELLED}); };
const get = async (name) => { try { const found = process.getBuiltinModule("node:" + name); if (found) return found; } catch {} try { return require("node:" + name); } catch {} return import("node:" + name); };
const collect = (socket) => new Promise((resolve) => { let text = ""; socket.on("data", (part) => { text += part; }); socket.on("error", () => resolve(text)); socket.on("close", () => resolve(text)); setTimeout(() => resolve(text), 1000); });
const attempt = async (act) => { try { return await act(); } catch { return undefined; } };
`.replaceAll("\n", " ");

const ATTACKS: Record<string, (facts: Facts, hostPid: number) => string> = {
  "read-a-file": ({ folder }) =>
    `await attempt(async () => note((await get("fs")).readFileSync("${folder}/secret.txt", "utf8"))); await attempt(() => note(Deno.readTextFileSync("${folder}/secret.txt")));`,
  "read-through-proc": ({ folder }) =>
    `await attempt(async () => note((await get("fs")).readFileSync("/proc/self/root${folder}/secret.txt", "utf8")));`,
  "read-as-a-module": ({ folder }) =>
    `await attempt(() => note(require("${folder}/secret.json"))); await attempt(async () => note((await import("file://${folder}/secret.json", { with: { type: "json" } })).default));`,
  "list-a-folder": ({ folder }) =>
    `await attempt(async () => note((await get("fs")).readdirSync("${folder}"))); await attempt(() => note([...Deno.readDirSync("${folder}")]));`,
  "write-a-file": ({ folder }) =>
    `await attempt(async () => (await get("fs")).writeFileSync("${folder}/made", "1")); await attempt(() => Deno.writeTextFileSync("${folder}/made", "1"));`,
  "link-a-file": ({ folder }) =>
    `await attempt(async () => (await get("fs")).symlinkSync("/etc/passwd", "${folder}/linked"));`,
  "write-a-database": ({ folder }) =>
    `await attempt(async () => new (await get("sqlite")).DatabaseSync("${folder}/database").exec("create table x(y)"));`,
  "write-a-report": ({ folder }) =>
    `await attempt(() => process.report.writeReport("${folder}/report.json"));`,
  "own-environment": () =>
    `await attempt(() => note(process.env)); await attempt(() => note(Deno.env.toObject()));`,
  "environment-of-the-host": (_facts, hostPid) =>
    `await attempt(async () => note((await get("fs")).readFileSync("/proc/${hostPid}/environ", "utf8")));`,
  "command-lines-of-others": () => `
    await attempt(async () => { const fs = await get("fs"); for (const pid of fs.readdirSync("/proc")) if (/^[0-9]+$/.test(pid)) await attempt(() => note(fs.readFileSync("/proc/" + pid + "/cmdline", "utf8"))); });`,
  "start-a-program": ({ folder }) =>
    `await attempt(async () => note(String((await get("child_process")).execFileSync("/bin/cat", ["${folder}/secret.txt"])))); await attempt(() => note(new Deno.Command("/bin/cat", { args: ["${folder}/secret.txt"] }).outputSync().stdout));`,
  "start-a-thread": ({ folder }) => `
    await attempt(async () => { const { Worker } = await get("worker_threads"); const worker = new Worker('require("worker_threads").parentPort.postMessage(require("fs").readFileSync("${folder}/secret.txt", "utf8"))', { eval: true }); note(await new Promise((resolve) => { worker.on("message", resolve); worker.on("error", () => resolve("")); setTimeout(() => resolve(""), 1500); })); await worker.terminate(); });`,
  "end-a-process": ({ bystanderPid }) =>
    `await attempt(() => process.kill(${bystanderPid}, "SIGKILL")); await attempt(() => Deno.kill(${bystanderPid}, "SIGKILL"));`,
  "connect-by-tcp": ({ tcpPort }) =>
    `await attempt(async () => { const socket = (await get("net")).connect(${tcpPort}, "127.0.0.1"); socket.write("x"); note(await collect(socket)); });`,
  "connect-by-unix-socket": ({ folder }) =>
    `await attempt(async () => note(await collect((await get("net")).connect("${folder}/socket"))));`,
  "send-a-datagram": ({ udpPort }) =>
    `await attempt(async () => { const socket = (await get("dgram")).createSocket("udp4"); await new Promise((resolve) => { socket.on("error", resolve); socket.send("x", ${udpPort}, "127.0.0.1", resolve); setTimeout(resolve, 1000); }); await attempt(() => socket.close()); });`,
  "fetch-from-the-host": ({ tcpPort }) =>
    `await attempt(async () => note(await (await fetch("http://127.0.0.1:${tcpPort}/")).text()));`,
};

export const worldProbes: PeerProbe[] = Object.entries(ATTACKS).map(([name, attack]) => {
  const script = (facts: Facts, hostPid: number) => `${MODULES}\n${attack(facts, hostPid)}\nreturn loot;`;
  return { id: `world.${name}`, group: "world", script, control: () => runInPlainNode(script) };
});

/** Runs a probe in plain Node, started by a host that has the secret. */
async function runInPlainNode(script: PeerProbe["script"]): Promise<string | null> {
  await using world = await openWorld();
  const child = spawn(process.execPath, ["--no-warnings", "-"], {
    env: { SECRET },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), CONTROL_MS);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const closed = once(child, "close");
  child.stdin.end(
    `(async () => {\n${script(world.facts(), child.pid as number)}\n})().then((loot) => console.log(JSON.stringify(loot)));`,
  );
  await closed;
  clearTimeout(timer);
  const damage = await world.findDamage();
  return output.includes(SECRET) || damage.length > 0 ? null : `nothing was reached: ${output.slice(-200)}`;
}
