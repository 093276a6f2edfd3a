/** A run's input: edited in a form for its schema or as JSON; and a process's recorded input. */
import { lazy, Suspense } from "preact/compat";
import { useState } from "preact/hooks";
import { type Action, useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Failure } from "../parts/failure.tsx";
import { TextField } from "../parts/fields.tsx";
import { JsonTree } from "../parts/json-tree.tsx";
import { Card } from "../parts/layout.tsx";
import { type Process, post } from "../server/api.ts";
import { input, inputSchema, readJson, readSchema, writeJson } from "./draft.ts";
import { isActive } from "./outcome.tsx";

const SchemaForm = lazy(() => import("../forms/schema-form.tsx"));

/** Returns the value, or the problem that prevented reading it. */
function attempt<T>(read: () => T): { value: T | undefined; problem: string | null } {
  try {
    return { value: read(), problem: null };
  } catch (error) {
    return { value: undefined, problem: (error as Error).message };
  }
}

interface InputFieldProps {
  text: string;
  schema: Record<string, unknown> | undefined;
  onChange: (text: string) => void;
}

function InputField({ text, schema, onChange }: InputFieldProps) {
  const { value, problem } = attempt(() => readJson("The input", text));
  const asJson = (
    <TextField
      label="Input (JSON)"
      hint="Scripts read it as cyrnel.input."
      rows={6}
      code
      value={text}
      error={problem}
      onChange={onChange}
    />
  );
  if (schema === undefined || problem !== null) return asJson;
  return (
    <Suspense fallback={asJson}>
      <SchemaForm
        schema={schema}
        value={value}
        onChange={(next) => onChange(JSON.stringify(next, null, 2))}
      />
    </Suspense>
  );
}

export function DraftInput() {
  const { value: schema, problem } = attempt(() => readSchema(inputSchema.value));
  return (
    <div class="card-foot stack">
      <InputField
        text={input.value}
        schema={schema}
        onChange={(text) => {
          input.value = text;
        }}
      />
      <TextField
        label="Input schema (JSON Schema)"
        hint="Optional. Validates the input, turns it into a form, and types it in the editor."
        rows={3}
        code
        value={inputSchema.value}
        error={problem}
        onChange={(text) => {
          inputSchema.value = text;
        }}
      />
    </div>
  );
}

/** Shows a run's input, and lets the user run it again with a different one. */
export function GivenInput({ process, onRun }: { process: Process; onRun: () => void }) {
  const [text, setText] = useState<string | null>(null);
  const running = useAction();
  const { input: given, inputSchema: schema } = process;
  const isNone = given === null || given === undefined;
  const change = (
    <Button
      look="quiet small"
      aria-expanded={text !== null}
      onClick={() => setText(text === null ? writeJson(given) : null)}
    >
      {isNone ? "Add input" : "Change"}
    </Button>
  );
  return (
    <Card title="Input" side={change}>
      {text !== null ? (
        <NextInput
          process={process}
          text={text}
          schema={schema ?? undefined}
          onChange={setText}
          running={running}
          onRun={onRun}
        />
      ) : isNone ? (
        <p class="muted small">None.</p>
      ) : (
        <JsonTree value={given} />
      )}
    </Card>
  );
}

interface NextInputProps extends InputFieldProps {
  process: Process;
  running: Action;
  onRun: () => void;
}

function NextInput({ process, running, onRun, ...field }: NextInputProps) {
  const run = () =>
    running.run(async () => {
      const next = readJson("The input", field.text);
      await post("/processes/{id}/signals/run", {
        params: { path: { id: String(process.id) } },
        body: { force: true, ...(next !== undefined && { input: next }) },
      });
      onRun();
    });
  return (
    <div class="stack">
      <InputField {...field} />
      <Failure error={running.error} />
      <div class="row end">
        <Button look="primary" icon="rotate-cw" disabled={isActive(process) || running.isBusy} onClick={run}>
          Run with this input
        </Button>
      </div>
    </div>
  );
}
