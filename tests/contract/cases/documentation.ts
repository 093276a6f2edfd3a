/** Cases: the documents an environment writes for the author of a script. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

export const documentationCases: EnvironmentCase[] = [
  {
    id: "docs.environment",
    sentence: "the environment's documentation names globals, limits and what is missing",
    async check({ module }) {
      const docs = await module.generateDocs();
      for (const word of ["tools.", "cyrnel.output", "console", "fetch", "import", "128"])
        expect(docs).toContain(word);
    },
  },
  {
    id: "docs.example",
    sentence: "the worked example of the documentation is a source this environment accepts",
    async check({ module, run }) {
      const docs = await module.generateDocs();
      const example = /```(?:ts|typescript)\n([\s\S]*?)```/.exec(docs)?.[0] ?? "";
      expect(example).not.toBe("");
      const { error } = await run(example);
      expect(error?.reason).not.toBe("syntax_error");
    },
  },
  {
    id: "docs.tool",
    sentence: "a tool's documentation has a typed signature and a call",
    async check({ module }) {
      const docs = await module.generateToolDocs({
        serviceId: "mail",
        toolId: "send",
        description: "Sends a mail.",
        inputSchema: {
          type: "object",
          required: ["to"],
          properties: {
            to: { type: "string", description: "Receiver" },
            copies: { type: "array", items: { type: "string" } },
          },
        },
        outputSchema: { type: "object", properties: { id: { type: "string" } } },
      });
      for (const word of ["tools.mail.send(", "to: string", "copies?: string[]", "Receiver", "Sends a mail."])
        expect(docs).toContain(word);
    },
  },
  {
    id: "status.report",
    sentence: "the status tells slots, limits and isolation",
    async check({ module }) {
      const status = module.status?.();
      expect(status?.slots).toBeGreaterThan(0);
      expect(status?.limits.memoryMb).toBe(128);
      expect(status?.isolation.layers.length).toBeGreaterThan(0);
    },
  },
];
