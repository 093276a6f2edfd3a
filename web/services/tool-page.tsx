/** One tool: its parameters and result, its documentation, and a form to call it. */
import { lazy, Suspense } from "preact/compat";
import { useState } from "preact/hooks";
import { useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Failure, Loaded, Loading, Settled } from "../parts/failure.tsx";
import { formatMs } from "../parts/format.tsx";
import { JsonCard, Plain } from "../parts/json-tree.tsx";
import { Card, Notice, PageHead } from "../parts/layout.tsx";
import { MarkdownCard } from "../parts/markdown-card.tsx";
import { editScript } from "../runs/draft.ts";
import { post, type ToolDetails, useGet } from "../server/api.ts";
import { ToolChips } from "./tool-list.tsx";

const SchemaForm = lazy(() => import("../forms/schema-form.tsx"));

export default function ToolPage({ id: serviceId, toolId }: { id: string; toolId: string }) {
  const params = { path: { serviceId, toolId } };
  const tool = useGet("/tools/{serviceId}/{toolId}", { params });
  const docs = useGet("/tools/{serviceId}/{toolId}/docs", { params, parseAs: "text" });
  return (
    <Loaded resource={tool}>
      {(data) => (
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
              <MarkdownCard title="Documentation" text={docs} />
              <JsonCard title="Input schema" value={data.inputSchema} copy="Copy input schema" />
              <JsonCard title="Output schema" value={data.outputSchema} copy="Copy output schema" />
            </Settled>
          </div>
        </>
      )}
    </Loaded>
  );
}

function TryIt({ tool }: { tool: ToolDetails }) {
  const { serviceId, id, inputSchema, effectivelyEnabled, policy } = tool;
  const [parameters, setParameters] = useState<unknown>({});
  const [answer, setAnswer] = useState<{ result: unknown; ms: number } | null>(null);
  const calling = useAction();
  const call = () =>
    calling.run(async () => {
      setAnswer(null);
      const began = performance.now();
      const { result } = await post("/tools/{serviceId}/{toolId}/invoke", {
        params: { path: { serviceId, toolId: id } },
        body: { parameters: (parameters ?? {}) as Record<string, unknown> },
      });
      setAnswer({ result, ms: performance.now() - began });
    });
  const write = () =>
    editScript(`return await tools.${serviceId}.${id}(${JSON.stringify(parameters ?? {}, null, 2)});\n`);
  return (
    <Settled>
      <Card
        title="Try it"
        side={
          <Button look="small" onClick={write}>
            Use in a script
          </Button>
        }
      >
        <div class="stack">
          {effectivelyEnabled ? null : (
            <Notice look="wait">
              This tool cannot be called: the tool, its service or the adapter is disabled, or the service
              could not start. <a href={`#/services/${serviceId}`}>Open service</a>
            </Notice>
          )}
          {policy === "ask" ? (
            <Notice look="wait">
              A rule asks for approval before each call. Only a script can wait for approval: call it from
              one.
            </Notice>
          ) : null}
          <Suspense fallback={<Loading />}>
            <SchemaForm schema={inputSchema} value={parameters} onChange={setParameters} />
          </Suspense>
          <Failure error={calling.error} />
          <div class="row end">
            <Button
              look="primary"
              icon="play"
              disabled={calling.isBusy || !effectivelyEnabled}
              onClick={call}
            >
              {calling.isBusy ? "Calling…" : "Call"}
            </Button>
          </div>
        </div>
      </Card>
      {answer === null ? null : (
        <JsonCard
          title="Answer"
          value={answer.result}
          copy="Copy result"
          side={<span class="muted small">{formatMs(answer.ms)}</span>}
        />
      )}
    </Settled>
  );
}
