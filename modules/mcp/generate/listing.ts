/** Reads a server's whole list of tools, within bounds: a list that never ends is refused, not cut. */
import { z } from "zod";
import type { Connection, RequestLimits } from "../call/connection.ts";
import type { ModuleConfig } from "../config.ts";
import { McpFailure } from "../failures.ts";

const pageSchema = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().max(10_000).nullish(),
});

/** The tools as the server describes them, unchecked. @throws McpFailure */
export async function listTools(
  connection: Connection,
  config: ModuleConfig,
  limits: RequestLimits,
): Promise<unknown[]> {
  if (!connection.server.hasTools) {
    throw new McpFailure("mcp_bad_answer", "The server says that it has no tools (no such capability).");
  }
  const deadline = performance.now() + limits.timeoutMs;
  const tools: unknown[] = [];
  const cursors = new Set<string>();
  let bytes = 0;
  let cursor: string | undefined;
  for (let pages = 1; pages <= config.maxListPages; pages += 1) {
    const timeoutMs = deadline - performance.now();
    if (timeoutMs <= 0) {
      throw new McpFailure("mcp_timeout", `The list of tools took longer than ${limits.timeoutMs} ms.`);
    }
    const params = cursor === undefined ? {} : { cursor };
    const page = await connection.request("tools/list", params, pageSchema, { ...limits, timeoutMs });
    bytes += measure(page.tools);
    if (bytes > config.maxListBytes) {
      throw tooLarge(`is larger than ${config.maxListBytes} bytes`, "maxListBytes");
    }
    tools.push(...page.tools);
    if (tools.length > config.maxTools) throw tooLarge(`has more than ${config.maxTools} tools`, "maxTools");
    if (!page.nextCursor) return tools;
    if (cursors.has(page.nextCursor)) {
      throw new McpFailure(
        "mcp_bad_answer",
        "The list of tools goes in circles: a page points back to an earlier one.",
      );
    }
    cursor = page.nextCursor;
    cursors.add(cursor);
  }
  throw tooLarge(`has more than ${config.maxListPages} pages`, "maxListPages");
}

function measure(tools: unknown[]): number {
  try {
    return Buffer.byteLength(JSON.stringify(tools));
  } catch {
    throw new McpFailure("mcp_bad_answer", "The server's list of tools is nested too deeply to be read.");
  }
}

function tooLarge(problem: string, setting: string): McpFailure {
  return new McpFailure(
    "mcp_too_large",
    `The server's list of tools ${problem} (${setting} of the module mcp).`,
  );
}
