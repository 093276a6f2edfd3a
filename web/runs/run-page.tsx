import { lazy, Suspense } from "preact/compat";
import { useMemo, useRef, useState } from "preact/hooks";
import type { EditorHandle } from "../editor/editor.tsx";
import { DropArea, FileFields } from "../files/file-fields.tsx";
import { givenFiles, readFiles } from "../files/given-files.ts";
import { useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Failure } from "../parts/failure.tsx";
import { TextField } from "../parts/fields.tsx";
import { Card, Empty, PageHead } from "../parts/layout.tsx";
import { post, useGet } from "../server/api.ts";
import {
  draft,
  input,
  inputSchema,
  limits,
  readJson,
  readLimits,
  readSchema,
  scriptName,
  started,
} from "./draft.ts";
import { useRun } from "./feed.ts";
import { DraftInput } from "./input.tsx";
import { isActive, markedError } from "./outcome.tsx";
import { RunPanel } from "./run-panel.tsx";

const Editor = lazy(() => import("../editor/editor.tsx"));
const RUN_KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ ↵" : "Ctrl ↵";

/** `crypto.randomUUID` does not exist on a page over plain HTTP from another machine. */
function makeRequestKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}

export default function RunPage() {
  const feed = useRun(started.value);
  const starting = useAction();
  const editor = useRef<EditorHandle | null>(null);
  const [shown, setShown] = useState<"input" | "files" | "limits" | null>(null);
  const types = useGet("/tools/types.d.ts", { parseAs: "text" });
  const { process } = feed;
  const isLive = process !== null && isActive(process);
  const error = useMemo(() => (process?.code === draft.peek() ? markedError(process) : null), [process]);

  const given = useMemo(() => readTyped(), [input.value, inputSchema.value]);

  const run = () =>
    starting.run(async () => {
      const { id } = await post("/processes", {
        // Retrying after a lost response does not run the script twice.
        params: { header: { "idempotency-key": makeRequestKey() } },
        body: {
          code: draft.value,
          options: readLimits(limits.value),
          ...(scriptName.value !== null && { name: scriptName.value }),
          ...readInput(),
          ...readFiles(),
        },
      });
      started.value = id;
    });

  return (
    <>
      <PageHead
        title="Editor"
        about="Each script runs in its own sandbox, with your files and the installed tools."
      />
      <div class="workbench">
        <DropArea class="card" label="Script" onDrop={() => setShown("files")}>
          <div class="card-head">
            <h2>Script</h2>
            <div class="row">
              <Button
                look="quiet small"
                icon="inbox"
                aria-expanded={shown === "input"}
                onClick={() => setShown(shown === "input" ? null : "input")}
              >
                Input
              </Button>
              <Button
                look="quiet small"
                icon="paperclip"
                aria-expanded={shown === "files"}
                onClick={() => setShown(shown === "files" ? null : "files")}
              >
                Files{givenFiles.value.length === 0 ? "" : ` · ${givenFiles.value.length}`}
              </Button>
              <Button
                look="quiet small"
                icon="sliders-horizontal"
                aria-expanded={shown === "limits"}
                onClick={() => setShown(shown === "limits" ? null : "limits")}
              >
                Limits
              </Button>
              <Button look="primary" icon="play" disabled={starting.isBusy || isLive} onClick={run}>
                Run <kbd>{RUN_KEYS}</kbd>
              </Button>
            </div>
          </div>
          <Suspense fallback={<div class="editor" />}>
            <Editor
              initialText={draft.peek()}
              label="Script"
              error={error}
              declarations={types.data}
              input={given}
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
          {shown === "input" ? <DraftInput /> : null}
          {shown === "files" ? <FileFields /> : null}
          {shown === "limits" ? (
            <div class="card-foot fields">
              <LimitField name="timeoutSeconds" label="Time limit (s)" placeholder="30" />
              <LimitField name="memoryMb" label="Memory (MiB)" placeholder="default" />
              <LimitField name="cpuMs" label="CPU time (ms)" placeholder="default" />
            </div>
          ) : null}
        </DropArea>
        <div class="stack">
          <Failure error={starting.error} />
          {started.value === null ? (
            <Card>
              <Empty
                icon="play"
                title="No runs yet"
                text="Press Run. Output, tool calls and the result appear here live."
              >
                <a class="button small" href="#/services/new">
                  Install service
                </a>
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

/** Returns the input in the form that the API takes. Throws if it is invalid. */
function readInput(): { input?: unknown; inputSchema?: Record<string, unknown> } {
  const value = readJson("The input", input.value);
  const schema = readSchema(inputSchema.value);
  return {
    ...(value !== undefined && { input: value }),
    ...(schema !== undefined && { inputSchema: schema }),
  };
}

/** Returns the input for the editor, or nothing while it is invalid. */
function readTyped(): ReturnType<typeof readInput> {
  try {
    return readInput();
  } catch {
    return {};
  }
}

interface LimitFieldProps {
  name: keyof typeof limits.value;
  label: string;
  placeholder: string;
}

function LimitField({ name, label, placeholder }: LimitFieldProps) {
  const set = (value: string) => {
    limits.value = { ...limits.value, [name]: value };
  };
  return <TextField label={label} value={limits.value[name]} placeholder={placeholder} onChange={set} />;
}
