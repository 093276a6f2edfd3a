/** The calls of one run: passed to the host, answered to the child, cut off when the run is over. */
import type { EnvironmentBindings, JSONSchema } from "@cyrnel/sdk";
import { type Call, isObject } from "./messages.mts";

export interface Calls {
  readonly count: number;
  /** False when a call with this id is on its way already. */
  start(call: Call): boolean;
}

export function createCalls(
  bindings: EnvironmentBindings,
  eid: number,
  maxCalls: number,
  over: AbortSignal,
  send: (message: object) => void,
): Calls {
  let count = 0;
  const open = new Set<number>();

  async function answer({ id, method, params }: Call): Promise<void> {
    try {
      const value = await perform(method, params);
      if (!over.aborted) send({ type: "answer", id, ok: true, value: value ?? null });
    } catch (error) {
      if (!over.aborted) send({ type: "answer", id, ok: false, error: describe(error) });
    } finally {
      open.delete(id);
    }
  }

  function perform(method: Call["method"], params: Record<string, unknown>): Promise<unknown> {
    const text = (name: string) => String(params[name] ?? "");
    const tool = { serviceId: text("serviceId"), toolId: text("toolId") };
    const context = { eid };
    switch (method) {
      case "invokeTool": {
        count += 1;
        if (count > maxCalls)
          throw Object.assign(new Error(`A run may make at most ${maxCalls} calls.`), {
            code: "too_many_calls",
          });
        const parameters = isObject(params.parameters) ? params.parameters : {};
        // The eid is ours: a script cannot call in the name of another run.
        return bindings.invokeTool({ ...tool, parameters, eid, signal: over });
      }
      case "discoverServices":
        return bindings.discoverServices(params, context);
      case "discoverTools":
        return bindings.discoverTools(params, context);
      case "getService":
        return bindings.getService(text("id"), context);
      case "getTool":
        return bindings.getTool(tool, context);
      case "getToolDocs":
        return bindings.getToolDocs(tool, context);
      case "ask": {
        const schema = isObject(params.schema) ? { schema: params.schema as JSONSchema } : {};
        return bindings.ask(eid, { message: text("message"), ...schema });
      }
    }
  }

  return {
    get count() {
      return Math.min(count, maxCalls);
    },
    start(call) {
      if (open.has(call.id)) return false;
      open.add(call.id);
      void answer(call);
      return true;
    },
  };
}

/** Exactly these four reach a script; a stack of the host never does. */
function describe(error: unknown): object {
  const { name, message, code, status } = error as Error & { code?: unknown; status?: unknown };
  return {
    name: String(name ?? "Error"),
    message: String(message ?? error),
    ...(typeof code === "string" && { code }),
    ...(typeof status === "number" && { status }),
  };
}
