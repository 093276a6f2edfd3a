/** A service's tools, or those that match a search. */
import { useState } from "preact/hooks";
import { useAction } from "../parts/action.tsx";
import { Button, Switch } from "../parts/controls.tsx";
import { Loaded } from "../parts/failure.tsx";
import { TextField } from "../parts/fields.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Empty, List, Row } from "../parts/layout.tsx";
import { get, post, type ToolSummary, useResource } from "../server/api.ts";

const PAGE = "50";

/** Reads the first page and the page at each cursor. */
async function readTools(serviceId: string, words: string, cursors: readonly string[], signal: AbortSignal) {
  const pages = await Promise.all(
    [null, ...cursors].map((cursor) => {
      const query = {
        serviceId,
        limit: PAGE,
        ...(words !== "" && { query: words }),
        ...(cursor !== null && { cursor }),
      };
      return get("/tools", { params: { query }, signal });
    }),
  );
  return {
    tools: pages.flatMap(({ tools }) => tools),
    next: pages.at(-1)?.nextCursor ?? null,
    isNothingFound: pages[0]?.services !== undefined,
  };
}

export function ToolList({ serviceId }: { serviceId: string }) {
  const [query, setQuery] = useState("");
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const found = useResource(
    (signal) => readTools(serviceId, query.trim(), cursors, signal),
    [serviceId, query, cursors],
  );
  const switching = useAction();
  const setEnabled = (toolId: string, enabled: boolean) => {
    const init = { params: { path: { serviceId, toolId } }, body: { enabled } };
    switching.run(() => post("/tools/{serviceId}/{toolId}/enabled", init), found.reload);
  };
  const search = (value: string) => {
    setQuery(value);
    setCursors([]);
  };
  const nothing = query === "" ? "The definition has no tools, or your role hides them." : "No matches.";
  return (
    <div class="stack">
      <search class="filters">
        <TextField label="Search tools" type="search" value={query} onChange={search} />
      </search>
      <Loaded resource={found} error={switching.error}>
        {({ tools, next, isNothingFound }) => (
          <>
            {isNothingFound && tools.length > 0 ? <p class="muted">No matches. Similar names:</p> : null}
            <List items={tools} empty={<Empty icon="wrench" title="No tools" text={nothing} />}>
              {(tool) => (
                <Row
                  key={tool.id}
                  side={
                    <>
                      <ToolChips tool={tool} />
                      <Switch
                        label={`Tool ${tool.id} enabled`}
                        on={tool.enabled}
                        disabled={switching.isBusy}
                        onChange={(enabled) => setEnabled(tool.id, enabled)}
                      />
                    </>
                  }
                >
                  <a href={`#/services/${serviceId}/tools/${tool.id}`} class="mono">
                    {tool.id}
                  </a>
                  <p class="clamp">
                    <Plain text={tool.description || tool.name} />
                  </p>
                </Row>
              )}
            </List>
            {next === null ? null : (
              <div class="row center">
                <Button onClick={() => setCursors([...cursors, next])}>Show more</Button>
              </div>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}

const POLICY_WORDS = { allow: null, ask: "needs approval", block: "blocked" } as const;

export function ToolChips({ tool }: { tool: Pick<ToolSummary, "destructive" | "policy"> }) {
  const word = POLICY_WORDS[tool.policy];
  return (
    <>
      {tool.destructive ? <span class="chip bad plain">destructive</span> : null}
      {word === null ? null : (
        <span class={`chip plain ${tool.policy === "ask" ? "wait" : "bad"}`}>{word}</span>
      )}
    </>
  );
}
