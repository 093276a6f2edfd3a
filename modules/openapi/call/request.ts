/**
 * Builds a request from a tool's plan and a script's parameters. Only parts that the plan names are sent. No
 * parameter can change the server, leave its path segment, or add a header line.
 */

import { own, ownRecord } from "#kernel/foreign-json.ts";
import type { InvokeInput } from "#sdk";
import type { ToolDomain } from "../domain.ts";
import { SLOTS } from "../domain.ts";
import { CallError } from "../failures.ts";
import { writeBody } from "./body.ts";
import type { WrittenBody } from "./files.ts";
import { writeHeader, writePairs, writeSegment } from "./values.ts";

export interface PreparedRequest {
  method: string;
  address: string;
  query: string[];
  cookies: string[];
  headers: Headers;
  body: WrittenBody | undefined;
}

/**
 * @param base the server's URL without a trailing slash @throws CallError that names the parameter that cannot be
 * sent
 */
export async function prepareRequest(
  plan: ToolDomain,
  base: string,
  configured: Record<string, string>,
  { parameters, files }: Pick<InvokeInput, "parameters" | "files">,
): Promise<PreparedRequest> {
  const headers = new Headers();
  const query = plan.staticQuery === undefined ? [] : [plan.staticQuery];
  const cookies: string[] = [];
  for (const parameter of plan.parameters) {
    const value = own(ownRecord(parameters, SLOTS[parameter.in]), parameter.name);
    if (value === undefined || parameter.in === "path") continue;
    if (parameter.in === "query") query.push(...writePairs(parameter, value));
    else if (parameter.in === "cookie") cookies.push(...writePairs(parameter, value));
    else setHeader(headers, parameter.name, writeHeader(parameter, value));
  }
  for (const [name, value] of Object.entries(configured)) setHeader(headers, name, value);
  const given = own(parameters, "body");
  const body =
    plan.body === undefined || given === undefined ? undefined : await writeBody(plan.body, given, files);
  if (body !== undefined) setHeader(headers, "content-type", body.contentType);
  if (!headers.has("accept")) setHeader(headers, "accept", plan.accept);
  return { method: plan.method, address: base + writePath(plan, parameters), query, cookies, headers, body };
}

/**
 * Fills the path template. Rejects `..` and any value that is not a single segment: the URL is normalized later,
 * including percent-encoded dots.
 */
function writePath(plan: ToolDomain, parameters: Record<string, unknown>): string {
  const given = ownRecord(parameters, "path");
  const written = plan.path.replace(/\{([^{}]+)\}/g, (_placeholder, name: string) => {
    const parameter = plan.parameters.find((known) => known.in === "path" && known.name === name);
    const value = own(given, name);
    const segment = parameter === undefined ? undefined : writeSegment(parameter, value);
    if (segment === undefined || segment === "") {
      throw new CallError("invalid_parameters", `The path parameter ${JSON.stringify(name)} needs a value.`);
    }
    return segment;
  });
  const path = encodeTemplate(written);
  if (path.split("/").some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) {
    throw new CallError(
      "invalid_parameters",
      `A path parameter of ${plan.path} consists of dots only, which would change the path.`,
    );
  }
  return path;
}

/** Encodes the template around the values: its `?` or `#` must not end the path. */
function encodeTemplate(path: string): string {
  return path.replace(/[?#\\\s]/g, (found) => encodeURIComponent(found));
}

/** @throws CallError, which never contains the value: it may be a secret */
export function setHeader(headers: Headers, name: string, value: string | undefined): void {
  if (value === undefined) return;
  // The `host` header selects a site where several share an address.
  if (name.toLowerCase() === "host") {
    throw new CallError(
      "invalid_parameters",
      "The header Host comes from the server's URL and cannot be set. Set serverUrl to the intended server.",
    );
  }
  try {
    headers.set(name, value);
  } catch {
    throw new CallError(
      "invalid_parameters",
      `The header ${JSON.stringify(name)} cannot be sent: its name or value contains a character that is not allowed in headers.`,
    );
  }
}

export function urlOf(request: PreparedRequest): string {
  return request.query.length === 0 ? request.address : `${request.address}?${request.query.join("&")}`;
}

/** Names the request in messages, without its query, which may contain a credential. */
export function nameOf(request: PreparedRequest): string {
  return `${request.method} ${request.address}`;
}
