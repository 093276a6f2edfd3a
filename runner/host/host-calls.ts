/** What a script's calls become: the host's bindings, with the execution they are made for. */

import type { EnvironmentBindings } from "#sdk";
import type { CallHandlers } from "./session.ts";

/** Handlers for the calls of execution `eid`. Only `invoke` and `ask` can be aborted: the others end by themselves. */
export function createHostCalls(bindings: EnvironmentBindings, eid: number): CallHandlers {
  return {
    invoke: ({ serviceId, toolId, parameters }, signal, seq) =>
      bindings.invokeTool({ serviceId, toolId, parameters, eid, signal, seq }),
    discoverServices: (query) => bindings.discoverServices(dropUndefined(query), { eid }),
    discoverTools: (query) => bindings.discoverTools(dropUndefined(query), { eid }),
    getService: ({ id }) => bindings.getService(id, { eid }),
    getTool: (id) => bindings.getTool(id, { eid }),
    getToolDocs: (id) => bindings.getToolDocs(id, { eid }),
    ask: ({ message, schema }, signal, seq) =>
      bindings.ask(eid, { message, ...(schema !== undefined && { schema }) }, { signal, seq }),
  };
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function dropUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}
