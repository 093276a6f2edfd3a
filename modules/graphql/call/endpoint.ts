/** One POST to a GraphQL endpoint through the host's fetch: bounded in time and size, never redirected. */
import { z } from "zod";
import { readHeaders } from "#modules/shared/answer-headers.ts";
import { causesOf, findRefusal, quoteForeign } from "#modules/shared/failures.ts";
import { readBytes, withLimits } from "#modules/shared/limits.ts";
import { parseExactJson } from "#sdk";
import { GraphqlFailure } from "../failures.ts";

export interface Endpoint {
  fetch: typeof globalThis.fetch;
  url: URL;
  headers: Record<string, string>;
  timeoutMs: number;
  maxResponseBytes: number;
}

export interface GraphqlRequest {
  query: string;
  operationName?: string;
  variables?: Record<string, unknown>;
}

const MAX_ERRORS = 50;

const answerSchema = z.looseObject({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z.array(z.looseObject({ message: z.string() })).nullish(),
});

export interface GraphqlAnswer {
  status: number;
  data: Record<string, unknown> | null;
  /** At most 50 entries. */
  errors: { message: string; [key: string]: unknown }[];
}

/**
 * @throws GraphqlFailure if there is no GraphQL response: unreachable, rejected, redirected, too slow, too large, not
 * JSON, canceled. The host's egress errors stay unchanged.
 */
export async function post(
  endpoint: Endpoint,
  request: GraphqlRequest,
  signals: readonly (AbortSignal | undefined)[] = [],
): Promise<GraphqlAnswer> {
  const { timeoutMs } = endpoint;
  const limits = {
    timeoutMs,
    signals,
    onTimeout: () =>
      new GraphqlFailure("graphql_timeout", `The endpoint did not respond within ${timeoutMs} ms.`),
    onCancel: () => new GraphqlFailure("graphql_canceled", "The call was canceled."),
  };
  return withLimits(limits, (signal) =>
    exchange(endpoint, request, signal).catch((error: unknown) => {
      throw toFailure(error);
    }),
  );
}

async function exchange(
  endpoint: Endpoint,
  request: GraphqlRequest,
  signal: AbortSignal,
): Promise<GraphqlAnswer> {
  const response = await endpoint.fetch(endpoint.url, {
    method: "POST",
    headers: {
      ...endpoint.headers,
      accept: "application/graphql-response+json, application/json;q=0.9",
      "content-type": "application/json",
    },
    body: JSON.stringify(request),
    redirect: "manual",
    signal,
  });
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel();
    throw new GraphqlFailure(
      "graphql_refused",
      `The endpoint answered ${response.status}, a redirect${describeTarget(response, endpoint.url)}. Redirects are not followed; set the endpoint to the redirect's target.`,
      { status: response.status },
    );
  }
  const { maxResponseBytes } = endpoint;
  const bytes = await readBytes(
    response,
    maxResponseBytes,
    () =>
      new GraphqlFailure(
        "graphql_too_large",
        `The endpoint's response exceeds ${maxResponseBytes} bytes (maxResponseBytes of the service).`,
      ),
  );
  return readAnswer(response, bytes.toString("utf8"));
}

function readAnswer(response: Response, text: string): GraphqlAnswer {
  const { status } = response;
  const json = parse(text);
  const parsed = answerSchema.safeParse(json);
  const isAnswer =
    parsed.success && (parsed.data.data !== undefined || (parsed.data.errors ?? []).length > 0);
  const errors = (parsed.data?.errors ?? []).slice(0, MAX_ERRORS);
  if (isAnswer && (response.ok || errors.length > 0)) {
    return { status, data: parsed.data.data ?? null, errors };
  }
  if (!response.ok) {
    const answer = { status, headers: readHeaders(response.headers), body: json ?? text };
    throw new GraphqlFailure("http_error", `The endpoint answered ${status}.`, { status, answer });
  }
  const type = response.headers.get("content-type") ?? "no content type";
  throw new GraphqlFailure(
    "graphql_bad_answer",
    json === undefined
      ? `The endpoint answered ${status}: ${quoteForeign(type)} that is not JSON`
      : `The endpoint returned status ${status} with JSON that is not a GraphQL response: ${quoteForeign(text)}`,
    { status },
  );
}

/** Returns undefined if the text is not JSON. */
function parse(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

function describeTarget(response: Response, url: URL): string {
  const location = response.headers.get("location") ?? "";
  if (!URL.canParse(location, url)) return "";
  const target = new URL(location, url);
  return ` to ${target.origin}${quoteForeign(target.pathname)}`;
}

function toFailure(error: unknown): Error {
  if (error instanceof GraphqlFailure) return error;
  const refusal = findRefusal(error);
  if (refusal !== undefined) return refusal;
  const reasons = [...causesOf(error)].map(({ code, message }) =>
    typeof code === "string" ? code : quoteForeign(message),
  );
  const reason = reasons.findLast((text) => text !== "") ?? "no reason given";
  return new GraphqlFailure("graphql_unreachable", `The endpoint cannot be reached: ${reason}.`, {
    cause: error,
  });
}
