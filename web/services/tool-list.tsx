/** The tools of a service, or those that a search finds among them. */

import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Card, Empty, Loading, Switch } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { TextField } from "../parts/field.tsx";
import { Wrench } from "../parts/icons.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { client, type ToolSummary } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";

const PAGE = 50;

export function ToolList({ serviceId }: { serviceId: string }) {
  const [query, setQuery] = useState("");
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const { data, error, reload } = useResource(
    async (signal) => {
      const pages = await Promise.all(
        [null, ...cursors].map(async (cursor) =>
          unwrap(
            await client.value.GET("/tools", {
              params: {
                query: {
                  serviceId,
                  limit: String(PAGE),
                  ...(query.trim() !== "" && { query: query.trim() }),
                  ...(cursor !== null && { cursor }),
                },
              },
              signal,
            }),
          ),
        ),
      );
      return {
        tools: pages.flatMap(({ tools }) => tools),
        next: pages.at(-1)?.nextCursor ?? null,
        isNothingFound: pages[0]?.services !== undefined,
      };
    },
    [serviceId, query, cursors],
  );
  const switching = useAction();
  const setEnabled = (tool: ToolSummary, enabled: boolean) =>
    void switching
      .run(async () =>
        unwrap(
          await client.value.POST("/tools/{serviceId}/{toolId}/enabled", {
            params: { path: { serviceId, toolId: tool.id } },
            body: { enabled },
          }),
        ),
      )
      .then(reload);
  return (
    <div class="stack">
      <search class="filters" style={{ marginBottom: 0 }}>
        <TextField
          label="Find a tool"
          type="search"
          value={query}
          onInput={(value) => {
            setQuery(value);
            setCursors([]);
          }}
        />
      </search>
      <Failure error={switching.error ?? error} retry={reload} />
      {data === null ? (
        error === null ? (
          <Loading />
        ) : null
      ) : (
        <Card flush>
          {data.isNothingFound && data.tools.length > 0 ? (
            <p class="list-row">Nothing fits these words. The nearest by spelling:</p>
          ) : null}
          {data.tools.length === 0 ? (
            <Empty icon={Wrench} title="No tool">
              <p>
                {query === ""
                  ? "Its definition has none, or your role sees none."
                  : "None that fits the words."}
              </p>
            </Empty>
          ) : (
            <ul class="list">
              {data.tools.map((tool) => (
                <li key={tool.id} class="list-row">
                  <div class="list-main">
                    <a href={`#/services/${serviceId}/tools/${tool.id}`} class="mono">
                      {tool.id}
                    </a>
                    <p class="clamp">
                      <Plain text={tool.description || tool.name} />
                    </p>
                  </div>
                  <div class="list-side">
                    <ToolChips tool={tool} />
                    <Switch
                      label={`Tool ${tool.id} enabled`}
                      on={tool.enabled}
                      disabled={switching.isBusy}
                      onChange={(enabled) => setEnabled(tool, enabled)}
                    />
                  </div>
                </li>
              ))}
            </ul>
          )}
        </Card>
      )}
      {data?.next ? (
        <div class="row" style={{ justifyContent: "center" }}>
          <button type="button" class="button" onClick={() => setCursors([...cursors, data.next ?? ""])}>
            Show more
          </button>
        </div>
      ) : null}
    </div>
  );
}

const POLICY_WORDS = { allow: null, ask: "asks a person", block: "blocked" } as const;

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
