/** Installs a service from a pasted definition, a file, a URL or a registry. */
import { useState } from "preact/hooks";
import { navigate } from "wouter-preact/use-hash-location";
import { tell, useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Failure } from "../parts/failure.tsx";
import { Form, SelectField, TextField, useFields } from "../parts/fields.tsx";
import { count, formatBytes, readPatterns } from "../parts/format.tsx";
import { Card, PageHead } from "../parts/layout.tsx";
import { post, type ServicePreview, useGet } from "../server/api.ts";
import { Allowed } from "./allowed.tsx";
import { DemoButton } from "./demo.tsx";

const WAYS = { paste: "Paste", file: "File", url: "URL", registry: "Registry" };
type Way = keyof typeof WAYS;

/** The server's request limit. Larger definitions must be installed from a URL. */
const MAX_DEFINITION_BYTES = 30 * 1024 * 1024;

const PLACEHOLDERS: Record<string, string> = {
  openapi: '{"openapi": "3.1.0", "info": {…}, "paths": {…}}',
  mcp: '{"transport": "http", "url": "https://mcp.example.com/mcp"}',
  http: '{"rules": [{"name": "read", "origins": ["https://api.example.com"], "pathPrefix": "/v1", "methods": ["GET"]}]}',
  graphql: '{"endpoint": "https://api.example.com/graphql"}',
  demo: "{}",
};

interface PickedFile {
  name: string;
  text: string;
}

export default function InstallPage() {
  const [way, setWay] = useState<Way>("paste");
  const { values, field } = useFields({ id: "", adapter: "openapi", url: "", operations: "" });
  const { id, adapter, url } = values;
  const [content, setContent] = useState("");
  const [file, setFile] = useState<PickedFile | null>(null);
  const installing = useAction();
  const previewing = useAction();
  const [preview, setPreview] = useState<{ of: string; shown: ServicePreview } | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const query = { type: "adapter", enabled: "true", limit: "200" } as const;
  const adapters = useGet("/modules", { params: { query } });
  const options = adapters.data?.modules.map((module) => [module.id, module.name] as const).reverse();
  const hasDefinition = way !== "registry";

  /** Throws an Error that says what is missing. */
  const readDefinition = () => {
    const filter = adapter === "openapi" ? readPatterns(values.operations) : [];
    const text = way === "file" ? (file?.text ?? "") : content;
    return {
      adapter,
      ...(filter.length > 0 && { operationFilter: filter }),
      ...(way === "url" ? { url } : { content: readContent(text, way) }),
    };
  };
  /** A preview is valid only for the definition it was made from. */
  const state = JSON.stringify([way, adapter, url, values.operations, way === "file" ? file : content]);
  const shown = preview?.of === state ? preview.shown : null;
  const look = () =>
    previewing.run(async () => {
      setPreview(null);
      setPreview({ of: state, shown: await post("/services/preview", { body: readDefinition() }) });
    });
  const submit = () =>
    installing.run(async () => {
      const entry = { source: url, ...(id !== "" && { id }) };
      const installed = !hasDefinition
        ? await post("/services/install", { body: entry })
        : await post("/services", { body: { id, ...readDefinition() } });
      tell(`${installed.id} is installed. Check its settings, then enable it.`);
      navigate(`/services/${installed.id}`);
    });

  return (
    <>
      <PageHead
        title="Install service"
        about="A definition becomes a service with tools. New services start disabled, so you can check them first."
        back={{ href: "#/services", label: "Services" }}
      >
        <DemoButton onFailure={setFailure} />
      </PageHead>
      <div class="narrow">
        <Card>
          <Form
            action={installing}
            submit={installing.isBusy ? "Installing…" : "Install"}
            icon="download"
            onSubmit={submit}
          >
            <fieldset>
              <legend class="visually-hidden">Definition source</legend>
              <div class="row">
                {Object.entries(WAYS).map(([value, label]) => (
                  <Button
                    key={value}
                    look={value === way ? "primary small" : "small"}
                    aria-pressed={value === way}
                    onClick={() => setWay(value as Way)}
                  >
                    {label}
                  </Button>
                ))}
              </div>
            </fieldset>
            <div class="fields">
              <TextField
                label="Id"
                {...field("id")}
                required={hasDefinition}
                hint={
                  <>
                    Scripts call it as <code>tools.{id || "…"}</code>
                  </>
                }
                placeholder="github"
              />
              {hasDefinition ? (
                <SelectField
                  label="Adapter"
                  options={options ?? [[adapter, adapter]]}
                  {...field("adapter")}
                />
              ) : null}
            </div>
            {way === "paste" ? (
              <TextField
                label="Definition"
                rows={14}
                code
                value={content}
                onChange={setContent}
                placeholder={PLACEHOLDERS[adapter] ?? ""}
                hint={content === "" ? "JSON or YAML" : count(content.split("\n").length, "line")}
              />
            ) : null}
            {way === "file" ? <FilePicker file={file} onPick={setFile} onFailure={setFailure} /> : null}
            {way === "url" || way === "registry" ? (
              <TextField
                label={way === "url" ? "URL of the definition" : "URL of the registry entry"}
                type="url"
                {...field("url")}
                required
                placeholder="https://"
                hint={
                  way === "url"
                    ? "The server downloads it once, if its egress rules allow."
                    : "Stored, so the service can be updated from it later."
                }
              />
            ) : null}
            {hasDefinition && adapter === "openapi" ? (
              <TextField
                label="Operations"
                rows={2}
                code
                {...field("operations")}
                placeholder={"GET /repos/*\ntag:issues\n!deleteRepo"}
                hint="One per line: an operationId, a method and path, or tag:name. * matches any characters, a leading ! excludes. Leave empty for all."
              />
            ) : null}
            {hasDefinition ? (
              <div class="row">
                <Button look="small" disabled={previewing.isBusy} onClick={look}>
                  {previewing.isBusy ? "Reading…" : "Preview"}
                </Button>
              </div>
            ) : null}
            <Failure error={previewing.error ?? (installing.error === null ? failure : null)} />
          </Form>
        </Card>
        {shown === null ? null : (
          <Allowed
            title={`${shown.name}: ${count(shown.toolCount, "tool")}`}
            tools={shown.tools}
            total={shown.toolCount}
          />
        )}
      </div>
    </>
  );
}

/** Throws an Error that says what is missing or too large. */
function readContent(content: string, way: Way): string {
  if (content.trim() === "") {
    throw new Error(way === "file" ? "Choose a file first." : "Paste the definition first.");
  }
  const bytes = new TextEncoder().encode(content).length;
  if (bytes > MAX_DEFINITION_BYTES) {
    throw new Error(`The definition has ${formatBytes(bytes)}; the limit is 30 MiB.`);
  }
  return content;
}

interface FilePickerProps {
  file: PickedFile | null;
  onPick: (file: PickedFile) => void;
  onFailure: (error: unknown) => void;
}

function FilePicker({ file, onPick, onFailure }: FilePickerProps) {
  const read = (picked: File | undefined) =>
    picked?.text().then((text) => onPick({ name: picked.name, text }), onFailure);
  return (
    <div class="field">
      <label for="definition-file">Definition file</label>
      <input
        id="definition-file"
        type="file"
        accept=".json,.yaml,.yml,application/json"
        onChange={(event) => void read(event.currentTarget.files?.[0])}
      />
      <span class="hint">
        {file === null ? "JSON or YAML" : `${file.name}, ${formatBytes(file.text.length)}`}
      </span>
    </div>
  );
}
