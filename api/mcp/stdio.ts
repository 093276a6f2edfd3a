/**
 * `cyrnel mcp`: connects stdio clients to a server's MCP endpoint. Exits with 0 when the client closes its side, 1 if
 * the client's side fails, 78 if settings are wrong. Logs only to standard error.
 */
import { parseArgs } from "node:util";
import { runStdioProxy } from "./stdio-proxy.ts";

const EX_CONFIG = 78;
const DEFAULT_URL = "http://127.0.0.1:9371";
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const USAGE = `Usage: cyrnel mcp [--url <server>]

  --url   Address of the server. Default: CYRNEL_URL, or ${DEFAULT_URL}.

The key is taken from CYRNEL_API_KEY only: other users of this machine can read command lines.
`;

const settings = readSettings();
if (typeof settings === "string") {
  process.stderr.write(settings);
  process.exit(settings === USAGE ? 0 : EX_CONFIG);
}
const stop = new AbortController();
for (const signal of STOP_SIGNALS) process.on(signal, () => stop.abort());
// Exit explicitly, because the process must not outlive its client.
process.exit(
  await runStdioProxy({
    ...settings,
    input: process.stdin,
    output: process.stdout,
    report,
    signal: stop.signal,
  }),
);

function readSettings(): { endpoint: URL; key: string | null } | string {
  try {
    const { values } = parseArgs({
      options: { url: { type: "string" }, help: { type: "boolean", short: "h" } },
    });
    if (values.help) return USAGE;
    const url = values.url ?? (process.env.CYRNEL_URL || DEFAULT_URL);
    const isHttp = URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);
    if (!isHttp) return `cyrnel mcp: the url is not valid: expected one like ${DEFAULT_URL}.\n`;
    const endpoint = new URL(`${new URL(url).pathname.replace(/\/$/, "")}/mcp`, url);
    return { endpoint, key: process.env.CYRNEL_API_KEY?.trim() || null };
  } catch (error) {
    return `cyrnel mcp: ${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`;
  }
}

function report(message: string): void {
  process.stderr.write(`cyrnel mcp: ${message}\n`);
}
