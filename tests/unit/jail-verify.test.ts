/** What the kernel says of a thread's filters, in the words of newer and older kernels. */
import { describe, expect, it } from "vitest";
import { hasEnoughFilters, parseThread } from "#runner/jail/verify.ts";

const status = (...lines: string[]) => ["Name:\tnode", "Pid:\t42", ...lines, ""].join("\n");

describe("a thread's filters", () => {
  it("are counted by the kernel", () => {
    expect(parseThread(status("NoNewPrivs:\t1", "Seccomp:\t2", "Seccomp_filters:\t3"))).toEqual({
      threadId: 42,
      name: "node",
      noNewPrivileges: true,
      heldSet: null,
      filters: 3,
    });
    expect(parseThread(status("NoNewPrivs:\t0", "Seccomp:\t0", "Seccomp_filters:\t0"))).toMatchObject({
      noNewPrivileges: false,
      filters: 0,
    });
  });

  it("are there in a number nobody knows before 5.9, and absent without seccomp", () => {
    expect(parseThread(status("NoNewPrivs:\t1", "Seccomp:\t2")).filters).toBeNull();
    expect(parseThread(status("NoNewPrivs:\t1", "Seccomp:\t0")).filters).toBe(0);
    expect(parseThread(status("NoNewPrivs:\t1")).filters).toBe(0);
  });

  it("go with its sets of capabilities, of which those are named that must be empty", () => {
    const held = status(
      "CapInh:\t0000000000000000",
      "CapPrm:\t0000000000000400",
      "CapBnd:\t000001ffffffffff",
    );
    expect(parseThread(held, ["CapInh", "CapPrm", "CapAmb"]).heldSet).toBe("CapPrm");
    expect(parseThread(held, ["CapInh", "CapAmb"]).heldSet).toBeNull();
    expect(parseThread(held, ["CapBnd"]).heldSet).toBe("CapBnd");
  });

  it.each([
    [3, 2, true],
    [2, 2, true],
    [1, 2, false],
    [0, 0, true],
    [null, 2, true],
    [0, 2, false],
    [null, null, true],
    [0, null, false],
  ])("%s where %s are required: %s", (found, required, isEnough) => {
    expect(hasEnoughFilters(found, required)).toBe(isEnough);
  });
});
