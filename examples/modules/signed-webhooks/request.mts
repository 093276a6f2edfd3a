/** One signed POST, bounded in time by its signal and in size by a limit. */
import { createHmac } from "node:crypto";

const MAX_ANSWER_BYTES = 256 * 1024;

export interface SignedRequest {
  /** The host's guarded fetch: it refuses addresses the operator has not allowed. */
  fetch: typeof globalThis.fetch;
  url: URL;
  payload: Record<string, unknown>;
  signingKey: string;
  userAgent: string;
  /** Aborts when the run ends, when the call takes too long, at shutdown. */
  signal: AbortSignal;
}

/** HTTP errors of the receiver are an answer; what keeps an answer from coming is thrown. */
export async function sendSigned(request: SignedRequest): Promise<{ status: number; body: unknown }> {
  const body = JSON.stringify(request.payload);
  const timestamp = Math.floor(Date.now() / 1000).toString();
  const response = await request.fetch(request.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": request.userAgent,
      "x-signature": `t=${timestamp},v1=${sign(request.signingKey, timestamp, body)}`,
    },
    body,
    signal: request.signal,
    // A signed request goes where it was meant to go, or nowhere.
    redirect: "error",
  });
  const text = await readAtMost(response, MAX_ANSWER_BYTES);
  return { status: response.status, body: parseIfJson(response, text) };
}

/** HMAC-SHA256 over `<timestamp>.<body>`, hexadecimal: the receiver refuses what is old or changed. */
export function sign(key: string, timestamp: string, body: string): string {
  return createHmac("sha256", key).update(`${timestamp}.${body}`).digest("hex");
}

async function readAtMost(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`The answer is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseIfJson(response: Response, text: string): unknown {
  if (!response.headers.get("content-type")?.includes("json")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
