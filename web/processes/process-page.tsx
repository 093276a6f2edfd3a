/** One process: its run, its source, and the available actions. */
import { lazy, Suspense } from "preact/compat";
import { useRef, useState } from "preact/hooks";
import { navigate } from "wouter-preact/use-hash-location";
import type { EditorHandle } from "../editor/editor.tsx";
import { GivenFiles } from "../files/artifacts.tsx";
import { tell, useAction } from "../parts/action.tsx";
import { Button, ConfirmButton, CopyButton } from "../parts/controls.tsx";
import { Failure, Loading } from "../parts/failure.tsx";
import { formatMs, formatTime } from "../parts/format.tsx";
import { Card, Facts, PageHead } from "../parts/layout.tsx";
import { editScript } from "../runs/draft.ts";
import { useRun } from "../runs/feed.ts";
import { GivenInput } from "../runs/input.tsx";
import { isActive, markedError } from "../runs/outcome.tsx";
import { RunPanel } from "../runs/run-panel.tsx";
import { type Process, post, remove } from "../server/api.ts";

const Editor = lazy(() => import("../editor/editor.tsx"));

export default function ProcessPage({ id }: { id: string }) {
  const [round, setRound] = useState(0);
  const feed = useRun(Number(id), round);
  const { process } = feed;
  const doing = useAction();
  const editor = useRef<EditorHandle | null>(null);
  const params = { path: { id } };

  const runAgain = () =>
    doing.run(async () => {
      await post("/processes/{id}/signals/run", { params, body: { force: true } });
      setRound(round + 1);
    });
  const forget = () =>
    doing.run(async () => {
      await remove("/processes/{id}", { params });
      tell(`Run ${id} is deleted.`);
      navigate("/processes");
    });

  return (
    <>
      <PageHead
        title={`Run ${id}${process?.ref === undefined ? "" : ` · ${process.ref}`}`}
        back={{ href: "#/processes", label: "Runs" }}
      >
        {process === null ? null : (
          <>
            <Button icon="pencil" onClick={() => editScript(process.code, process)}>
              Edit copy
            </Button>
            <Button icon="rotate-cw" disabled={isActive(process) || doing.isBusy} onClick={runAgain}>
              Run again
            </Button>
            {isActive(process) ? null : (
              <ConfirmButton
                label="Delete"
                question={`Delete run ${id} with its output, files and call trail?`}
                onConfirm={forget}
              />
            )}
          </>
        )}
      </PageHead>
      <div class="stack">
        <Failure error={doing.error} />
        {process === null && feed.error === null ? <Loading /> : null}
        <div class="workbench">
          {process === null ? null : (
            <Source process={process} editor={editor} onRun={() => setRound(round + 1)} />
          )}
          <RunPanel feed={feed} onShowLine={(line) => editor.current?.goToLine(line)} />
        </div>
      </div>
    </>
  );
}

interface SourceProps {
  process: Process;
  editor: { current: EditorHandle | null };
  onRun: () => void;
}

function Source({ process, editor, onRun }: SourceProps) {
  const { options, code, createdAt, startedAt, completedAt } = process;
  return (
    <div class="stack">
      <section class="card" aria-label="Source">
        <div class="card-head">
          <h2>Source</h2>
          <CopyButton text={code} label="Copy source" />
        </div>
        <Suspense fallback={<div class="editor" />}>
          <Editor
            initialText={code}
            label="Source"
            isReadOnly
            error={markedError(process)}
            onReady={(handle) => {
              editor.current = handle;
            }}
          />
        </Suspense>
      </section>
      <GivenInput key={process.startedAt} process={process} onRun={onRun} />
      <GivenFiles process={process} />
      <Card title="Limits and times">
        <Facts
          facts={{
            "Time limit": options.timeoutMs === null ? "none" : formatMs(options.timeoutMs),
            "Memory limit": options.memoryMb === null ? "default" : `${options.memoryMb} MiB`,
            "CPU time limit": options.cpuMs === null ? "none" : formatMs(options.cpuMs),
            Submitted: formatTime(createdAt),
            Started: formatTime(startedAt),
            Ended: formatTime(completedAt),
          }}
        />
      </Card>
    </div>
  );
}
