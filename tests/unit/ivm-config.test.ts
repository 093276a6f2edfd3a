import { availableParallelism } from "node:os";
import { describe, expect, test } from "vitest";
import { configJsonSchema, readConfig } from "#modules/typescript-ivm/config.ts";
import { manifest } from "#modules/typescript-ivm/index.ts";
import { moduleManifestSchema } from "#sdk";

describe("settings of typescript-ivm", () => {
  test("nothing configured: two slots per core, one of them kept, 128 MB per run, no eval and no WebAssembly", () => {
    expect(readConfig({})).toMatchObject({
      slots: availableParallelism() * 2,
      minSlots: 1,
      memoryMb: 128,
      queueTtlMs: null,
      allowEval: false,
      allowWasm: false,
    });
  });

  test("no more slots are kept than there may be", () => {
    expect(readConfig({ slots: 1, minSlots: 4 }).minSlots).toBe(1);
  });

  test("a default above the maximum is refused by name", () => {
    expect(() => readConfig({ memoryMb: 512, maxMemoryMb: 256 })).toThrow(
      /memoryMb \(512\).*maxMemoryMb \(256\)/,
    );
  });

  test("an unknown setting is refused", () => {
    expect(() => readConfig({ allowFiles: true })).toThrow(/allowFiles/);
  });

  test("the manifest is valid and documents every setting", () => {
    expect(moduleManifestSchema.parse(manifest).id).toBe("typescript-ivm");
    const properties = configJsonSchema.properties as Record<string, { description?: string }>;
    for (const [name, schema] of Object.entries(properties)) expect(schema.description, name).toBeTruthy();
  });
});
