/** One tool: what it takes and answers, its documentation, and one call by hand. */

import { lazy, Suspense } from "preact/compat";
import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Card, CopyButton, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { formatMs } from "../parts/format.ts";
import { Play } from "../parts/icons.tsx";
import { JsonTree, Plain } from "../parts/json-tree.tsx";
import { Settled } from "../parts/settled.tsx";
import { draft, started } from "../runs/draft.ts";
import { client, type ToolDetails } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { ToolChips } from "./tool-list.tsx";

const SchemaForm = lazy(() => import("../forms/schema-form.tsx"));
const Markdown = lazy(() => import("../parts/markdown.tsx"));

export default function ToolPage({ id: serviceId, toolId }: { id: string; toolId: string }) {
  const params = { path: { serviceId, toolId } };
  const tool = useResource(
    async (signal) => unwrap(await client.value.GET("/tools/{serviceId}/{toolId}", { params, signal })),
    [serviceId, toolId],
  );
  const docs = useResource(
    async (signal) =>
      unwrap(await client.value.GET("/tools/{serviceId}/{toolId}/docs", { params, parseAs: "text", signal })),
    [serviceId, toolId],
  );
  if (tool.data === null) {
    return tool.error === null ? <Loading /> : <Failure error={tool.error} retry={tool.reload} />;
  }
  const { data } = tool;
  return (
    <>
      <PageHead
        title={
          <span class="mono">
            {serviceId}.{toolId}
          </span>
        }
        about={<Plain text={data.name} />}
        back={{ href: `#/services/${serviceId}`, label: serviceId }}
      >
        <ToolChips tool={data} />
      </PageHead>
      <div class="workbench">
        <TryIt tool={data} />
        <Settled>
          <Card title="Documentation">
            <Suspense fallback={<Loading />}>
              {docs.data === null ? (
                docs.error === null ? (
                  <Loading />
                ) : (
                  <Failure error={docs.error} />
                )
              ) : (
                <Markdown text={String(docs.data)} />
              )}
            </Suspense>
          </Card>
          <SchemaCard title="Input schema" schema={data.inputSchema} />
          <SchemaCard title="Output schema" schema={data.outputSchema} />
        </Settled>
      </div>
    </>
  );
}

function SchemaCard({ title, schema }: { title: string; schema: unknown }) {
  return (
    <Card
      title={title}
      side={
        <CopyButton text={() => JSON.stringify(schema, null, 2)} label={`Copy the ${title.toLowerCase()}`} />
      }
    >
      <JsonTree value={schema} />
    </Card>
  );
}

function TryIt({ tool }: { tool: ToolDetails }) {
  const { serviceId, id, inputSchema, effectivelyEnabled, policy } = tool;
  const [parameters, setParameters] = useState<unknown>({});
  const [answer, setAnswer] = useState<{ result: unknown; ms: number } | null>(null);
  const calling = useAction();
  const [, navigate] = useLocation();
  const call = () =>
    void calling.run(async () => {
      setAnswer(null);
      const began = performance.now();
      const { result } = unwrap(
        await client.value.POST("/tools/{serviceId}/{toolId}/invoke", {
          params: { path: { serviceId, toolId: id } },
          body: { parameters: (parameters ?? {}) as Record<string, unknown> },
        }),
      );
      setAnswer({ result, ms: performance.now() - began });
    });
  const write = () => {
    draft.value = `return await tools.${serviceId}.${id}(${JSON.stringify(parameters ?? {}, null, 2)});\n`;
    started.value = null;
    navigate("/run");
  };
  return (
    <Settled>
      <Card
        title="Try it"
        side={
          <button type="button" class="button small" onClick={write}>
            Use in a script
          </button>
        }
      >
        <div class="stack">
          {effectivelyEnabled ? null : (
            <div class="notice wait">
              <div>
                This tool cannot be called now: it, its service or the service's adapter is disabled, or the
                adapter could not take the service on. <a href={`#/services/${serviceId}`}>To the service</a>
              </div>
            </div>
          )}
          {policy === "ask" ? (
            <div class="notice wait">
              <div>
                A rule asks a person before each call. By hand it cannot wait for one: call it from a script.
              </div>
            </div>
          ) : null}
          <Suspense fallback={<Loading />}>
            <SchemaForm schema={inputSchema} value={parameters} onChange={setParameters} />
          </Suspense>
          <Failure error={calling.error} />
          <div class="row end">
            <button
              type="button"
              class="button primary"
              disabled={calling.isBusy || !effectivelyEnabled}
              onClick={call}
            >
              <Play /> {calling.isBusy ? "Calling…" : "Call"}
            </button>
          </div>
        </div>
      </Card>
      {answer === null ? null : (
        <Card
          title="Answer"
          side={
            <>
              <span class="muted small">{formatMs(answer.ms)}</span>
              <CopyButton text={() => JSON.stringify(answer.result, null, 2)} label="Copy the answer" />
            </>
          }
        >
          <JsonTree value={answer.result} />
        </Card>
      )}
    </Settled>
  );
}
