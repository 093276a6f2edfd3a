/** A run whose environment does not keep its time limit is ended by the server; nobody else's time counts. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BACKSTOP_MS } from "#api/processes/live/execution.ts";
import { LiveRun } from "#api/processes/live/run.ts";
import type { ProcessRow } from "#api/processes/model/records.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { Workspace } from "#runner/workspace/workspace.ts";

const LIMIT_MS = 5_000;
const AFTER_ALL_MS = LIMIT_MS + BACKSTOP_MS;

describe("a run that its environment does not end", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function begin(timeoutMs: number | null = LIMIT_MS) {
    const onOverdue = vi.fn();
    const live = new LiveRun({
      row: { id: 1, claim: "claim", timeoutMs, queuedAt: new Date(), startedAt: new Date() } as ProcessRow,
      environment: "deaf",
      submitted: { code: "for (;;);", input: null, inputSchema: null, files: null, name: null },
      memoryMb: null,
      limits: {
        maxStdoutBytes: 10,
        maxStderrBytes: 10,
        maxOutputBytes: 10,
        maxResultBytes: 10,
        maxWorkspaceBytes: 10,
      },
      openWorkspace: () => new Workspace({ files: [], maxBytes: 10, maxFiles: 10 }),
      redactor: createRedactor(),
      onChange() {},
      execution: {
        requestEnd: vi.fn(),
        confirmed: Promise.resolve(),
        canPause: false,
        pause: async () => null,
        resume() {},
      },
      slot: { giveUp() {}, takeBack() {} },
      onOverdue,
    });
    return { live, onOverdue };
  }

  test("is ended a minute after its time was up, and says who did it", () => {
    const { live, onOverdue } = begin();
    vi.advanceTimersByTime(AFTER_ALL_MS - 1);
    expect(onOverdue).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onOverdue).toHaveBeenCalledOnce();
    expect(live.execution.requestEnd).toHaveBeenCalledOnce();
    expect(live.signal.aborted).toBe(true);
    expect(live.conclude({ kind: "unconfirmed" })).toMatchObject({
      exitState: "timeout",
      reason: "timeout",
      error: {
        name: "TimeoutError",
        message:
          "The run took longer than its timeout of 5000 ms. The environment did not end it, so the server did.",
      },
    });
  });

  test("has all its time although it waited for its turn and for a person", () => {
    const { live, onOverdue } = begin();
    live.setState("queued");
    vi.advanceTimersByTime(AFTER_ALL_MS * 2);
    live.setState("running");
    vi.advanceTimersByTime(AFTER_ALL_MS - 1);
    live.pause();
    vi.advanceTimersByTime(AFTER_ALL_MS * 2);
    live.resume();
    expect(onOverdue).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onOverdue).toHaveBeenCalledOnce();
  });

  test("has the time that doing again what was done before may take", () => {
    const { live, onOverdue } = begin();
    live.restore({
      trail: [],
      usage: { ...live.usage, wallMs: 1_000 },
      approvals: [],
      events: [],
      packages: [],
    });
    vi.advanceTimersByTime(AFTER_ALL_MS + 1_999);
    expect(onOverdue).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onOverdue).toHaveBeenCalledOnce();
  });

  test.each([
    ["has ended", (live: LiveRun) => void live.conclude({ kind: "returned", value: "success" })],
    ["was left by its child", (live: LiveRun) => live.detach()],
    ["is being killed", (live: LiveRun) => live.kill()],
  ])("is not ended by the clock once it %s", (_, end) => {
    const { live, onOverdue } = begin();
    end(live);
    vi.advanceTimersByTime(AFTER_ALL_MS * 2);
    expect(onOverdue).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("goes on for ever where it has no limit", () => {
    const { onOverdue } = begin(null);
    vi.advanceTimersByTime(AFTER_ALL_MS * 100);
    expect(onOverdue).not.toHaveBeenCalled();
  });
});
