/** Write a script, run it, watch it. */

import { lazy, Suspense } from "preact/compat";
import { useMemo, useRef, useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import type { EditorHandle } from "../editor/editor.tsx";
import { useAction } from "../parts/action.ts";
import { Card, Empty, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { TextField } from "../parts/field.tsx";
import { Play, SlidersHorizontal } from "../parts/icons.tsx";
import { client } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { draft, limits, readLimits, started } from "./draft.ts";
import { useRun } from "./feed.ts";
import { isActive } from "./outcome.tsx";
import { RunPanel } from "./run-panel.tsx";

const Editor = lazy(() => import("../editor/editor.tsx"));
const RUN_KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ ↵" : "Ctrl ↵";

async function readTypes(signal: AbortSignal): Promise<string> {
  const answer = await client.value.GET("/tools/types.d.ts", { parseAs: "text", signal });
  return unwrap(answer as { data?: string; error?: unknown; response: Response });
}

/** Not `crypto.randomUUID`: a page over plain HTTP from another machine has none. */
function makeRequestKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}

export default function RunPage() {
  const feed = useRun(started.value);
  const starting = useAction();
  const editor = useRef<EditorHandle | null>(null);
  const [showsLimits, setShowsLimits] = useState(false);
  const types = useResource(readTypes, []);
  const { process } = feed;
  const isLive = process !== null && isActive(process);

  const error = useMemo(() => {
    const detail = process?.errorDetail;
    if (!detail?.line || process?.code !== draft.peek()) return null;
    return { line: detail.line, column: detail.column ?? null, message: `${detail.name}: ${detail.message}` };
  }, [process]);

  const run = () =>
    void starting.run(async () => {
      const { id } = unwrap(
        await client.value.POST("/processes", {
          // Where the answer is lost, asking again does not run it twice.
          params: { header: { "idempotency-key": makeRequestKey() } },
          body: { code: draft.value, options: readLimits(limits.value) },
        }),
      );
      started.value = id;
    });

  return (
    <>
      <PageHead
        title="Run"
        about="A script runs in a sandbox of its own: no files, no network, only the tools you installed."
      />
      <div class="workbench">
        <section class="card" aria-label="Script">
          <div class="card-head">
            <h2>Script</h2>
            <div class="row">
              <button
                type="button"
                class="button quiet small"
                aria-expanded={showsLimits}
                onClick={() => setShowsLimits(!showsLimits)}
              >
                <SlidersHorizontal /> Limits
              </button>
              <button type="button" class="button primary" disabled={starting.isBusy || isLive} onClick={run}>
                <Play /> Run <kbd>{RUN_KEYS}</kbd>
              </button>
            </div>
          </div>
          <Suspense fallback={<div class="editor" />}>
            <Editor
              initialText={draft.peek()}
              label="Script"
              error={error}
              declarations={types.data}
              onChange={(text) => {
                draft.value = text;
              }}
              onRun={() => {
                if (!isLive) run();
              }}
              onReady={(handle) => {
                editor.current = handle;
              }}
            />
          </Suspense>
          {showsLimits ? <LimitFields /> : null}
        </section>
        <div class="stack">
          <Failure error={starting.error} />
          {started.value === null ? (
            <Card>
              <Empty icon={Play} title="Nothing has run yet">
                <p>Press Run. What the script prints, returns and calls appears here while it happens.</p>
                <div class="row">
                  <a class="button small" href="#/services/new">
                    Install a service
                  </a>
                </div>
              </Empty>
            </Card>
          ) : (
            <RunPanel feed={feed} onShowLine={(line) => editor.current?.goToLine(line)} />
          )}
        </div>
      </div>
    </>
  );
}

function LimitFields() {
  const set = (change: Partial<typeof limits.value>) => {
    limits.value = { ...limits.value, ...change };
  };
  const { timeoutSeconds, memoryMb, cpuMs } = limits.value;
  return (
    <div class="limits">
      <TextField
        label="Time, seconds"
        value={timeoutSeconds}
        placeholder="30"
        onInput={(value) => set({ timeoutSeconds: value })}
      />
      <TextField
        label="Memory, MiB"
        value={memoryMb}
        placeholder="default"
        onInput={(value) => set({ memoryMb: value })}
      />
      <TextField
        label="Processor, ms"
        value={cpuMs}
        placeholder="default"
        onInput={(value) => set({ cpuMs: value })}
      />
    </div>
  );
}
