/** That the container of security.sh is as restricted as it says: without this its other tests would show nothing new. */
import { accessSync, constants, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";

const status = readFileSync("/proc/self/status", "latin1");

test("uid 1000, no capability, no way to any, and a seccomp profile", () => {
  expect(status).toMatch(/^Uid:\s+1000\s+1000\s+1000\s+1000$/m);
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
    expect(status).toMatch(new RegExp(`^${set}:\\s+0+$`, "m"));
  expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
  expect(status).toMatch(/^Seccomp:\s+2$/m);
});

test("nothing can be written but /tmp, where nothing can be executed", () => {
  const mounts = readFileSync("/proc/self/mounts", "latin1").split("\n");
  const options = (path: string) =>
    mounts
      .find((line) => line.split(" ")[1] === path)
      ?.split(" ")[3]
      ?.split(",");
  expect(options("/")).toContain("ro");
  expect(options("/cyrnel")).toContain("ro");
  expect(options("/tmp")).toEqual(expect.arrayContaining(["rw", "noexec", "nosuid", "nodev"]));
  for (const path of ["/", "/etc", "/usr", "/cyrnel"])
    expect(() => accessSync(path, constants.W_OK)).toThrow(/EROFS|EACCES/);
});

test("no network but loopback", () => {
  expect(Object.keys(networkInterfaces())).toEqual(["lo"]);
});
