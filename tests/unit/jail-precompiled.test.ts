/** Filters that a build has compiled ahead are those that the policies say. */
import { expect, it } from "vitest";
import { compilePolicy } from "#runner/jail/seccomp/compile.ts";
import { compileFilters } from "#runner/jail/seccomp/filters.ts";
import { birthPolicy } from "#runner/jail/seccomp/policies.ts";
import { writeFilters } from "#runner/jail/seccomp/precompiled.ts";
import { ARCHITECTURES, installed, OWN } from "./jail-bpf-interpreter.ts";

it.each(ARCHITECTURES)("are the same programs on %s", async (architecture) => {
  const text = Buffer.from(writeFilters()).toString("base64");
  const built = (await import(`data:text/javascript;base64,${text}`)) as {
    compileFilters: typeof compileFilters;
  };
  for (const paranoid of [false, true]) {
    expect(built.compileFilters(architecture, { paranoid })).toEqual(
      compileFilters(architecture, { paranoid }),
    );
  }
});

it.each(ARCHITECTURES)("keep signals from the process that lays them out, on %s", (architecture) => {
  const { birth } = compileFilters(architecture, { paranoid: false });
  expect(installed(birth)).toEqual(installed(compilePolicy(birthPolicy(OWN), architecture)));
});
