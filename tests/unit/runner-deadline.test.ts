import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startDeadline } from "#runner/host/deadline.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("a deadline", () => {
  test("rings once, when its time is over", () => {
    const ring = vi.fn();
    startDeadline(1000, ring);
    vi.advanceTimersByTime(999);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(5000);
    expect(ring).toHaveBeenCalledTimes(1);
  });

  test("does not count while it is paused, however often and however long", () => {
    const ring = vi.fn();
    const deadline = startDeadline(1000, ring);
    vi.advanceTimersByTime(600);
    deadline.pause();
    deadline.pause();
    vi.advanceTimersByTime(1e9);
    deadline.resume();
    vi.advanceTimersByTime(1e9);
    deadline.resume();
    vi.advanceTimersByTime(399);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(2);
    expect(ring).toHaveBeenCalledTimes(1);
    expect(() => deadline.resume()).toThrow("not paused");
  });

  test("waits longer than one timer can", () => {
    const ring = vi.fn();
    const days = 60 * 24 * 3600 * 1000;
    startDeadline(days, ring);
    vi.advanceTimersByTime(days - 1);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(2);
    expect(ring).toHaveBeenCalledTimes(1);
  });

  test("without a limit, or disposed of, never rings", () => {
    const ring = vi.fn();
    const endless = startDeadline(null, ring);
    endless.pause();
    endless.resume();
    const disposed = startDeadline(10, ring);
    disposed[Symbol.dispose]();
    disposed.pause();
    disposed.resume();
    vi.advanceTimersByTime(1e10);
    expect(ring).not.toHaveBeenCalled();
  });
});
