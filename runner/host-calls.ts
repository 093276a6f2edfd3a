/** What a script's calls become: the host's bindings, with the execution they are made for. */

import type { EnvironmentBindings } from "#sdk";
import type { CallHandlers } from "./session.ts";

/** Handlers for the calls of execution `eid`. Only `invoke` can be aborted: the others end by themselves. */
export function createHostCalls(bindings: EnvironmentBindings, eid: number): CallHandlers {
  return {
    invoke: ({ serviceId, toolId, parameters }, signal) =>
      bindings.invokeTool({ serviceId, toolId, parameters, eid, signal }),
    discoverServices: (query) => bindings.discoverServices(dropUndefined(query)),
    discoverTools: (query) => bindings.discoverTools(dropUndefined(query)),
    getService: ({ id }) => bindings.getService(id),
    getTool: (id) => bindings.getTool(id),
    getToolDocs: (id) => bindings.getToolDocs(id),
    ask: ({ message, schema }) => bindings.ask(eid, { message, ...(schema !== undefined && { schema }) }),
  };
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function dropUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}
