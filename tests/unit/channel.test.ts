import { PassThrough, Writable } from "node:stream";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { type ChannelClose, createChannel } from "#runner/wire/channel.ts";
import { encodeFrame, encodeFrameText, type Frame } from "#runner/wire/frames.ts";

function open(limits = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const channel = createChannel(input, output, limits);
  const values: unknown[] = [];
  const closes: ChannelClose[] = [];
  const listener = {
    message: ({ value }: Frame) => void values.push(value),
    closed: (close: ChannelClose) => void closes.push(close),
  };
  return { input, output, channel, values, closes, listener };
}

describe("a channel", () => {
  test("delivers messages in order and tells of the end after the last", async () => {
    const { input, channel, values, closes, listener } = open();
    channel.attach(listener);
    input.write(Buffer.concat([encodeFrame(1), encodeFrame(2)]));
    input.end(encodeFrame(3));
    await vi.waitFor(() => expect(closes).toEqual([{ kind: "ended" }]));
    expect(values).toEqual([1, 2, 3]);
    expect(channel.isClosed).toBe(true);
  });

  test("reads nothing while nobody listens, and hands over what came meanwhile", async () => {
    const { input, channel, values, listener } = open();
    const detach = channel.attach(listener);
    detach();
    input.write(encodeFrame("early"));
    await delay(10);
    expect(values).toEqual([]);
    expect(channel.bufferedBytes).toBeGreaterThan(0);
    channel.attach(listener);
    await vi.waitFor(() => expect(values).toEqual(["early"]));
  });

  test("lets others have their turn during a flood of tiny frames", async () => {
    const { input, channel, values, listener } = open();
    channel.attach(listener);
    const flood = 10_000;
    input.write(Buffer.concat(new Array(flood).fill(encodeFrame(0))));
    const seen: number[] = [];
    while (values.length < flood) {
      await nextTurn();
      seen.push(values.length);
    }
    expect(Math.max(...seen.map((count, i) => count - (seen[i - 1] ?? 0)))).toBeLessThan(1000);
  });

  test("closes on what is no message, delivers nothing after it, and keeps why", async () => {
    const { input, channel, values, closes, listener } = open({ maxFrameBytes: 100, maxDepth: 5 });
    channel.attach(listener);
    input.write(Buffer.concat([encodeFrame("good"), encodeFrameText("{"), encodeFrame("after")]));
    await vi.waitFor(() =>
      expect(closes).toMatchObject([{ kind: "violation", cause: { kind: "malformed" } }]),
    );
    expect(values).toEqual(["good"]);
    expect(input.destroyed).toBe(true);

    const large = open({ maxFrameBytes: 100 });
    large.channel.attach(large.listener);
    large.input.write(encodeFrame("x".repeat(101)));
    await vi.waitFor(() =>
      expect(large.closes).toMatchObject([{ kind: "violation", cause: { kind: "size" } }]),
    );
  });

  test("survives a peer whose streams break in any way", async () => {
    for (const end of ["input error", "output error", "both"] as const) {
      const { input, output, channel, closes, listener } = open();
      channel.attach(listener);
      const broken = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
      if (end !== "input error") output.destroy(broken);
      if (end !== "output error")
        input.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
      await delay(5);
      expect(channel.hasWriteFailed).toBe(end !== "input error");
      if (end === "output error") {
        expect(channel.send("1")).toBe(false);
        await channel.writable();
        channel.close();
      }
      await vi.waitFor(() => expect(closes).toHaveLength(1));
      expect(channel.send("1")).toBe(false);
    }
  });

  test("is closed once, however often it is told", async () => {
    const { input, channel, closes, listener } = open();
    channel.attach(listener);
    channel.close();
    channel.close();
    input.destroy();
    await delay(5);
    expect(closes).toEqual([{ kind: "closed" }]);
  });

  test("queues no more than its bound for a peer that does not read", async () => {
    const stuck = new Writable({ highWaterMark: 10, write: () => {} });
    const channel = createChannel(new PassThrough(), stuck, { maxQueuedBytes: 1000 });
    let sent = 0;
    while (channel.send(JSON.stringify("x".repeat(90)))) sent++;
    expect(sent).toBeLessThanOrEqual(10);
    expect(channel.queuedBytes).toBeLessThanOrEqual(1000);
    const waiting = channel.writable();
    expect(await Promise.race([waiting.then(() => "writable"), delay(10, "full")])).toBe("full");
    channel.close();
    await waiting;
  });

  test("has one listener at a time", () => {
    const { channel, listener } = open();
    const detach = channel.attach(listener);
    expect(() => channel.attach(listener)).toThrow("one listener");
    detach();
    detach();
    channel.attach(listener);
  });
});
