/** Targets around a host: a secret in many places, a folder, sockets, another process. */
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The controls of the escape corpus have it in their environment. */
export const SECRET = "canary-of-the-host";
/** The same as an expression: a script with the secret in plain text would find it in its own source. */
export const SPELLED = `[${SECRET.split("-").map((part) => JSON.stringify(part))}].join("-")`;
const ANSWER_MS = 30;
const SETTLE_MS = 20;

/** Facts that a script gets, because an attacker may know every location. */
export interface Facts {
  folder: string;
  tcpPort: number;
  udpPort: number;
  bystanderPid: number;
}

/** One attack, made in the same way on every peer, with a control in which it works. */
export interface PeerProbe {
  id: string;
  group: "world" | "realm" | "time" | "memory";
  script(facts: Facts, hostPid: number): string;
  /** Returns null if the attack works without a sandbox, as it should; otherwise its result. */
  control(): Promise<string | null>;
}

export interface World extends AsyncDisposable {
  facts(): Facts;
  /** Lists the damage since the last call and repairs it: new files, received datagrams, a killed bystander. */
  findDamage(): Promise<string[]>;
}

export async function openWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "cyrnel-peers-world-"));
  const planted = ["secret.txt", "secret.json", `${SECRET}.txt`, "socket"];
  await writeFile(join(folder, "secret.txt"), SECRET, { mode: 0o600 });
  await writeFile(join(folder, "secret.json"), JSON.stringify({ secret: SECRET }), { mode: 0o600 });
  await writeFile(join(folder, `${SECRET}.txt`), "", { mode: 0o600 });
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const serve = () =>
    createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
      socket.resume();
      setTimeout(() => {
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-length: ${SECRET.length}\r\nconnection: close\r\n\r\n${SECRET}`,
        );
      }, ANSWER_MS);
    });
  const tcp = serve().listen(0, "127.0.0.1");
  const unix = serve().listen(join(folder, "socket"));
  const udp = createSocket("udp4", () => heard.push("a datagram")).bind(0, "127.0.0.1");
  await Promise.all([once(tcp, "listening"), once(unix, "listening"), once(udp, "listening")]);
  let bystander = startBystander();

  return {
    facts: () => ({
      folder,
      tcpPort: (tcp.address() as { port: number }).port,
      udpPort: udp.address().port,
      bystanderPid: bystander.pid as number,
    }),
    async findDamage() {
      await sleep(SETTLE_MS);
      const made = (await readdir(folder)).filter((name) => !planted.includes(name));
      for (const name of made) await rm(join(folder, name), { recursive: true, force: true });
      const damage = [...heard.splice(0), ...made.map((name) => `a file ${name}`)];
      if (bystander.exitCode !== null || bystander.signalCode !== null) {
        damage.push("another process was ended");
        bystander = startBystander();
      }
      return damage;
    },
    async [Symbol.asyncDispose]() {
      bystander.kill("SIGKILL");
      for (const socket of sockets) socket.destroy();
      tcp.close();
      unix.close();
      udp.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The secret is on the bystander's command line. */
function startBystander(): ChildProcess {
  return spawn("sleep", ["600"], { argv0: SECRET, stdio: "ignore" });
}
