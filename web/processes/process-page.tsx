/** One process: its run, its source, and what can be done with it. */

import { lazy, Suspense } from "preact/compat";
import { useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { unwrap } from "#client/errors.ts";
import type { EditorHandle } from "../editor/editor.tsx";
import { useAction } from "../parts/action.ts";
import { Card, ConfirmButton, CopyButton, Facts, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { formatMs, formatTime } from "../parts/format.ts";
import { Pencil, RotateCw } from "../parts/icons.tsx";
import { tell } from "../parts/toasts.tsx";
import { draft, started } from "../runs/draft.ts";
import { useRun } from "../runs/feed.ts";
import { isActive } from "../runs/outcome.tsx";
import { RunPanel } from "../runs/run-panel.tsx";
import { client, type Process } from "../server/api.ts";

const Editor = lazy(() => import("../editor/editor.tsx"));

export default function ProcessPage({ id }: { id: string }) {
  const [round, setRound] = useState(0);
  const feed = useRun(Number(id), round);
  const { process } = feed;
  const doing = useAction();
  const editor = useRef<EditorHandle | null>(null);
  const [, navigate] = useLocation();
  const params = { path: { id } };

  const runAgain = () =>
    void doing.run(async () => {
      unwrap(await client.value.POST("/processes/{id}/signals/run", { params, body: { force: true } }));
      setRound(round + 1);
    });
  const edit = (code: string) => {
    draft.value = code;
    started.value = null;
    navigate("/run");
  };
  const remove = () =>
    void doing.run(async () => {
      unwrap(await client.value.DELETE("/processes/{id}", { params }));
      tell(`Process ${id} is deleted.`);
      navigate("/processes");
    });

  return (
    <>
      <PageHead
        title={`Process ${id}${process?.ref === undefined ? "" : ` · ${process.ref}`}`}
        back={{ href: "#/processes", label: "Processes" }}
      >
        {process === null ? null : (
          <>
            <button type="button" class="button" onClick={() => edit(process.code)}>
              <Pencil /> Edit a copy
            </button>
            <button
              type="button"
              class="button"
              disabled={isActive(process) || doing.isBusy}
              onClick={runAgain}
            >
              <RotateCw /> Run again
            </button>
            {isActive(process) ? null : (
              <ConfirmButton
                label="Delete"
                question={`Process ${id}, its output and its call trail will be gone.`}
                confirm="Delete"
                onConfirm={remove}
              />
            )}
          </>
        )}
      </PageHead>
      <div class="stack">
        <Failure error={doing.error} />
        {process === null && feed.error === null ? <Loading /> : null}
        <div class="workbench">
          {process === null ? null : <Source process={process} editor={editor} />}
          <RunPanel feed={feed} onShowLine={(line) => editor.current?.goToLine(line)} />
        </div>
      </div>
    </>
  );
}

function Source({ process, editor }: { process: Process; editor: { current: EditorHandle | null } }) {
  const { options, errorDetail } = process;
  return (
    <div class="stack">
      <section class="card" aria-label="Source">
        <div class="card-head">
          <h2>Source</h2>
          <CopyButton text={process.code} label="Copy the source" />
        </div>
        <Suspense fallback={<div class="editor" />}>
          <Editor
            initialText={process.code}
            label="Source"
            isReadOnly
            error={
              errorDetail?.line
                ? {
                    line: errorDetail.line,
                    column: errorDetail.column ?? null,
                    message: `${errorDetail.name}: ${errorDetail.message}`,
                  }
                : null
            }
            onChange={() => {}}
            onReady={(handle) => {
              editor.current = handle;
            }}
          />
        </Suspense>
      </section>
      <Card title="Limits and times">
        <Facts
          facts={[
            ["Time limit", options.timeoutMs === null ? "none" : formatMs(options.timeoutMs)],
            ["Memory limit", options.memoryMb === null ? "default" : `${options.memoryMb} MiB`],
            ["Processor limit", options.cpuMs === null ? "none" : formatMs(options.cpuMs)],
            ["Submitted", formatTime(process.createdAt)],
            ["Started", formatTime(process.startedAt)],
            ["Ended", formatTime(process.completedAt)],
          ]}
        />
      </Card>
    </div>
  );
}
