import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { spawnChild } from "#runner/pool/spawn.ts";
import type { ProcessExit, StartProcess } from "#runner/process/start-process.ts";
import { PROTOCOL_VERSION } from "#runner/wire/protocol.ts";
import { launchHostile, launchReal, listChildren, startReal } from "./runner/harness.ts";

afterEach(async () => {
  await vi.waitFor(() => expect(listChildren()).toEqual([]), 20_000);
});

/** Starts a program with more than it should get. */
function startWith(options: { env?: Record<string, string>; extraFd?: number }): StartProcess {
  return async ({ path, args, cwd }) => {
    const env = { TZ: "UTC", ...options.env };
    const stdio = [
      "pipe",
      "pipe",
      "pipe",
      ...(options.extraFd === undefined ? [] : [options.extraFd]),
    ] as const;
    const child = spawn(path, args, { cwd, env, stdio: [...stdio] });
    const exited = new Promise<ProcessExit>((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    const { stdin, stdout, stderr, pid } = child;
    if (!stdin || !stdout || !stderr || !pid) throw new Error("no pipes");
    return { pid, stdin, stdout, stderr, exited, kill: () => void child.kill("SIGKILL") };
  };
}

describe("a child", () => {
  test("becomes ready without permissions, with a code cache, and is verified from outside", async () => {
    const child = await startReal();
    expect(child.ready).toEqual({ layers: [0, 1], codeCache: true });
    expect(child.check).toEqual({ kind: "verified" });
    expect(child.exit).toBeNull();
    child.kill();
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(child.exit).toEqual({ code: null, signal: "SIGKILL" });
    child.kill();
  });

  test("ends by itself when the server is gone", async () => {
    const child = await startReal();
    child.channel.close();
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  test.each([
    ["exit", "ended before it was ready. It ended with exit code 3: something is missing here"],
    ["abort", "ended before it was ready. It ended with SIGABRT"],
    ["garbage", "ended before it was ready"],
    ["not-booted", "first message was not `booted`"],
    ["ready-unbooted", "first message was not `booted`"],
    ["not-ready", "second message was not `ready`"],
    ["booted-attached", "first message was not `booted`"],
    ["booted-twice", "second message was not `ready`"],
    ["exit-booted", "ended before it was ready. It ended with exit code 4"],
    ["old-protocol", `speaks protocol 0; the server speaks ${PROTOCOL_VERSION}`],
    ["other-node", "runs on Node v1.2.3"],
    ["no-realm", "did not confirm layer 0 of its isolation; 0, 1 were expected"],
    ["no-permissions", "did not confirm layer 1 of its isolation"],
  ])("that does not become ready (%s) is refused with what it did", async (behaviour, message) => {
    const refused = spawnChild(launchHostile(behaviour));
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toHaveProperty("name", "ChildStartError");
  });

  test("that was given a lock and does not say that it is locked is refused", async () => {
    await expect(spawnChild({ ...launchReal(), ownLayers: [0, 1, 3] })).rejects.toThrow(
      "did not confirm layer 3 of its isolation; 0, 1, 3 were expected",
    );
  });

  test("that stays silent is given up after the time it has", async () => {
    const started = performance.now();
    await expect(spawnChild(launchHostile("silent", { bootTimeoutMs: 300 }))).rejects.toThrow(
      "not ready within 300 ms",
    );
    expect(performance.now() - started).toBeLessThan(5000);
  });

  test("that cannot be started at all is refused with the system's reason", async () => {
    await expect(spawnChild(launchHostile("silent", { nodePath: "/does/not/exist" }))).rejects.toThrow(
      "ENOENT",
    );
    await expect(spawnChild({ ...launchReal(), args: ["/does/not/exist.js"] })).rejects.toThrow(
      "exit code 1",
    );
    await expect(spawnChild({ ...launchReal(), args: ["--no-such-flag"] })).rejects.toThrow("exit code 9");
  });

  test("is stopped while it starts when nobody wants it any more", async () => {
    const closing = new AbortController();
    const starting = spawnChild(launchHostile("silent"), closing.signal);
    await delay(50);
    closing.abort();
    await expect(starting).rejects.toThrow("closing");
    await expect(spawnChild(launchHostile("silent"), closing.signal)).rejects.toThrow("closing");
  });

  test("that was given more environment or descriptors than it may have is refused", async () => {
    const leaky = spawnChild(launchReal(), undefined, startWith({ env: { SECRET: "x" } }));
    await expect(leaky).rejects.toThrow("environment holds more than TZ=UTC");
    const extraFd = openSync("/etc/hostname", "r");
    const holding = spawnChild(launchReal(), undefined, startWith({ extraFd }));
    await expect(holding).rejects.toThrow(/holds descriptor 3 \(\/etc\/hostname\)/);
  });
});
