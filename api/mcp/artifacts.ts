/**
 * Presents artifacts to MCP clients as resources: small files embedded, others as links. A response embeds a limited
 * amount and names what it omits; everything is available over HTTP.
 */

import { isUtf8 } from "node:buffer";
import type { EmbeddedResource, ResourceLink, ResourceTemplate } from "@modelcontextprotocol/sdk/types.js";
import pLimit from "p-limit";
import type { ProcessArtifact } from "#api/processes/model/files.ts";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import { AppError } from "../errors.ts";
import type { McpPorts, RequestContext } from "./ports.ts";

const MAX_EMBEDDED_BYTES = 64 * 1024;
const MAX_EMBEDDED_TOTAL_BYTES = 256 * 1024;
const MAX_ATTACHED = 50;
const MAX_READING = 4;
/** Size limit for reading one resource, which is held in memory and sent in base64. */
const MAX_READ_BYTES = 4 * 1024 * 1024;
const URI = /^cyrnel:\/\/processes\/([1-9][0-9]{0,14})\/artifacts\/(.+)$/s;

export const ARTIFACTS_TEMPLATE: ResourceTemplate = {
  uriTemplate: "cyrnel://processes/{processId}/artifacts/{+name}",
  name: "artifacts",
  title: "Artifacts of a run",
  description: `Up to ${MAX_READ_BYTES} bytes; larger ones over HTTP: GET /processes/{processId}/artifacts/{+name}. Percent-encode the parts of the name.`,
};

interface Attached {
  artifacts: { name: string; size: number; contentType: string; uri: string; download?: string }[];
  content: (EmbeddedResource | ResourceLink)[];
}

/** Attaches a run's artifacts to its result and adds the names of omitted parts to `cut`. */
export async function attachArtifacts(
  ports: McpPorts,
  { id, artifacts }: ProcessRecord,
  context: RequestContext,
  cut: string[],
): Promise<Attached> {
  const shown = artifacts.slice(0, MAX_ATTACHED);
  if (shown.length < artifacts.length) {
    cut.push(
      `${shown.length} of ${artifacts.length} artifacts are shown (all: GET /processes/${id}/artifacts)`,
    );
  }
  const limit = pLimit(MAX_READING);
  let leftBytes = MAX_EMBEDDED_TOTAL_BYTES;
  const content = shown.map(async (artifact) => {
    const isEmbedded = artifact.size < MAX_EMBEDDED_BYTES && artifact.size <= leftBytes;
    if (!isEmbedded) return linkTo(id, artifact);
    leftBytes -= artifact.size;
    try {
      const resource = await limit(() => readArtifact(ports, id, artifact.name, context));
      return { type: "resource" as const, resource };
    } catch (error) {
      // Another run may have started, or the store may be down; return the outcome anyway.
      ports.log.debug({ err: error, requestId: context.requestId }, "an artifact could not be embedded");
      return linkTo(id, artifact);
    }
  });
  const described = shown.map(({ name, size, contentType }) => ({
    name,
    size,
    contentType,
    uri: uriOf(id, name),
    ...(size > MAX_READ_BYTES && { download: pathOf(id, name) }),
  }));
  return { artifacts: described, content: await Promise.all(content) };
}

/**
 * Returns null for other URIs. Throws forbidden, not_found, process_not_idle, and invalid_request if the artifact is
 * too large.
 */
export async function readArtifactResource(ports: McpPorts, uri: string, context: RequestContext) {
  const place = parseUri(uri);
  if (place === null) return null;
  if (!context.caller.scopes.has("processes:read")) {
    throw new AppError("forbidden", "Reading artifacts needs a key with the scope processes:read.");
  }
  return readArtifact(ports, place.id, place.name, context);
}

async function readArtifact({ processes }: McpPorts, id: number, name: string, context: RequestContext) {
  const { size, contentType, bytes } = await processes.readArtifact(id, name, MAX_READ_BYTES, context);
  if (bytes === null) {
    throw new AppError("invalid_request", `The artifact has ${size} bytes. ${sayWhereElse(id, name)}`);
  }
  const base = { uri: uriOf(id, name), mimeType: contentType };
  const isText = isUtf8(bytes) && !bytes.includes(0);
  return isText ? { ...base, text: bytes.toString() } : { ...base, blob: bytes.toString("base64") };
}

function linkTo(id: number, { name, size, contentType }: ProcessArtifact): ResourceLink {
  const description = size > MAX_READ_BYTES ? { description: sayWhereElse(id, name) } : {};
  return { type: "resource_link", uri: uriOf(id, name), name, ...description, size, mimeType: contentType };
}

function sayWhereElse(id: number, name: string): string {
  return `MCP returns at most ${MAX_READ_BYTES} bytes. Download it from this server over HTTP, with a key that has processes:read, whole or in parts (Range): GET ${pathOf(id, name)}`;
}

function uriOf(id: number, name: string): string {
  return `cyrnel:/${pathOf(id, name)}`;
}

function pathOf(id: number, name: string): string {
  return `/processes/${id}/artifacts/${name.split("/").map(encodeURIComponent).join("/")}`;
}

function parseUri(uri: string): { id: number; name: string } | null {
  const [, id, name = ""] = URI.exec(uri) ?? [];
  try {
    return id === undefined ? null : { id: Number(id), name: decodeURIComponent(name) };
  } catch {
    return null;
  }
}
