import type { CallMethod, WaitingParams } from "../../wire/protocol.ts";

/** Number of calls that are named; further ones are only counted. */
const MAX_NAMED = 3;
const MAX_NAME_CHARS = 200;

export interface OpenCall {
  id: number;
  method: CallMethod;
  params: object;
}

/** Returns null if the run waits for nothing known. `places` come from the child and may be missing. */
export function describeWaiting(open: readonly OpenCall[], places: WaitingParams["calls"]): string | null {
  const lines = new Map(
    places.map(({ id, line, file }) => [id, file === undefined ? `line ${line}` : `${file}:${line}`]),
  );
  const named = open.slice(0, MAX_NAMED).map((call) => {
    const line = lines.get(call.id);
    return line === undefined ? nameOf(call) : `${nameOf(call)}, ${line}`;
  });
  const timer = lines.get(0);
  if (named.length === 0) return timer === undefined ? null : `a timer, ${timer}`;
  if (open.length > MAX_NAMED) named.push(`${open.length - MAX_NAMED} more calls`);
  return named.join("; ");
}

function nameOf({ method, params }: OpenCall): string {
  const { serviceId, toolId, name, parameters } = params as Record<string, unknown>;
  if (method === "invoke" && serviceId === "fetch") {
    return `fetch of ${cut((parameters as { url?: unknown }).url)}`;
  }
  if (method === "invoke") return cut(`tools.${serviceId}.${toolId}`);
  if (method === "readBody") return "the body of a fetch";
  return name === undefined ? `cyrnel.${method}` : `${method} of ${cut(name)}`;
}

function cut(text: unknown): string {
  return String(text).slice(0, MAX_NAME_CHARS);
}
