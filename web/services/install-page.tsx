/** Installing a service: its definition from a URL, a file, pasted, or by way of a registry. */

import { useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Card, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { count, formatBytes } from "../parts/format.ts";
import { Download } from "../parts/icons.tsx";
import { readPatterns } from "../parts/pattern-lists.ts";
import { tell } from "../parts/toasts.tsx";
import { client } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { DemoButton } from "./demo.tsx";

const WAYS = [
  ["paste", "Paste"],
  ["file", "File"],
  ["url", "URL"],
  ["registry", "Registry"],
] as const;
type Way = (typeof WAYS)[number][0];

/** What the request may hold. Larger definitions are installed from a URL. */
const MAX_DEFINITION_BYTES = 30 * 1024 * 1024;

const PLACEHOLDERS: Record<string, string> = {
  openapi: '{"openapi": "3.1.0", "info": {…}, "paths": {…}}',
  mcp: '{"transport": "http", "url": "https://mcp.example.com/mcp"}',
  graphql: '{"endpoint": "https://api.example.com/graphql"}',
  demo: "{}",
};

export default function InstallPage() {
  const [way, setWay] = useState<Way>("paste");
  const [id, setId] = useState("");
  const [adapter, setAdapter] = useState("openapi");
  const [content, setContent] = useState("");
  const [file, setFile] = useState<{ name: string; text: string } | null>(null);
  const [operations, setOperations] = useState("");
  const [url, setUrl] = useState("");
  const installing = useAction();
  const [failure, setFailure] = useState<unknown>(null);
  const [, navigate] = useLocation();
  const adapters = useResource(
    async (signal) =>
      unwrap(
        await client.value.GET("/modules", {
          params: { query: { type: "adapter", enabled: "true", limit: "200" } },
          signal,
        }),
      ).modules,
    [],
  );
  const options = adapters.data?.map((module) => [module.id, module.name] as const).reverse() ?? [
    [adapter, adapter] as const,
  ];

  const submit = (event: Event) => {
    event.preventDefault();
    void installing.run(async () => {
      const installed = await install({
        way,
        id: id.trim(),
        adapter,
        content,
        file: file?.text ?? "",
        url: url.trim(),
        operationFilter: adapter === "openapi" ? readPatterns(operations) : [],
      });
      tell(`${installed} is installed. Enable it when its settings are right.`);
      navigate(`/services/${installed}`);
    });
  };

  return (
    <>
      <PageHead
        title="Install a service"
        about="A definition becomes a service with tools. It starts disabled, so that you can look at it first."
        back={{ href: "#/services", label: "Services" }}
      >
        <DemoButton onFailure={setFailure} />
      </PageHead>
      <form onSubmit={submit} style={{ maxWidth: "820px" }}>
        <Card>
          <div class="stack">
            <fieldset>
              <legend class="visually-hidden">Where the definition comes from</legend>
              <div class="row">
                {WAYS.map(([value, label]) => (
                  <button
                    key={value}
                    type="button"
                    class={value === way ? "button primary small" : "button small"}
                    aria-pressed={value === way}
                    onClick={() => setWay(value)}
                  >
                    {label}
                  </button>
                ))}
              </div>
            </fieldset>
            <div class="fields">
              <TextField
                label="Id"
                value={id}
                onInput={setId}
                required={way !== "registry"}
                hint={
                  <>
                    Scripts write <code>tools.{id.trim() || "…"}</code>
                  </>
                }
                placeholder="github"
              />
              {way === "registry" ? null : (
                <SelectField label="Adapter" value={adapter} options={options} onChange={setAdapter} />
              )}
            </div>
            {way === "paste" ? (
              <TextField
                label="Definition"
                rows={14}
                code
                value={content}
                onInput={setContent}
                placeholder={PLACEHOLDERS[adapter] ?? ""}
                hint={content === "" ? "JSON or YAML" : `${count(content.split("\n").length, "line")}`}
              />
            ) : null}
            {way === "file" ? <FilePicker file={file} onPick={setFile} onFailure={setFailure} /> : null}
            {way === "url" || way === "registry" ? (
              <TextField
                label={way === "url" ? "URL of the definition" : "URL of the registry entry"}
                type="url"
                value={url}
                onInput={setUrl}
                required
                placeholder="https://"
                hint={
                  way === "url"
                    ? "Downloaded once by the server, as far as its egress rules allow."
                    : "Kept, so that the service can be updated from it later."
                }
              />
            ) : null}
            {way !== "registry" && adapter === "openapi" ? (
              <TextField
                label="Operations"
                rows={2}
                code
                value={operations}
                onInput={setOperations}
                placeholder={"GET /repos/*\ntag:issues\n!deleteRepo"}
                hint="One a line: an operationId, a method and path, or tag:name. * is any characters, ! before it excludes. Empty: all."
              />
            ) : null}
            <Failure error={installing.error ?? failure} />
            <div class="row end">
              <button type="submit" class="button primary" disabled={installing.isBusy}>
                <Download /> {installing.isBusy ? "Installing…" : "Install"}
              </button>
            </div>
          </div>
        </Card>
      </form>
    </>
  );
}

async function install(given: {
  way: Way;
  id: string;
  adapter: string;
  content: string;
  file: string;
  url: string;
  operationFilter: string[];
}): Promise<string> {
  const { way, id, url } = given;
  if (way === "registry") {
    const body = { source: url, ...(id !== "" && { id }) };
    return unwrap(await client.value.POST("/services/install", { body })).id;
  }
  const service = {
    id,
    adapter: given.adapter,
    ...(given.operationFilter.length > 0 && { operationFilter: given.operationFilter }),
  };
  if (way === "url") return unwrap(await client.value.POST("/services", { body: { ...service, url } })).id;
  const content = way === "file" ? given.file : given.content;
  if (content.trim() === "")
    throw new Error(way === "file" ? "Choose a file first." : "Paste the definition first.");
  const bytes = new TextEncoder().encode(content).length;
  if (bytes > MAX_DEFINITION_BYTES) {
    throw new Error(`The definition has ${formatBytes(bytes)}; at most 30 MiB are accepted.`);
  }
  return unwrap(await client.value.POST("/services", { body: { ...service, content } })).id;
}

function FilePicker({
  file,
  onPick,
  onFailure,
}: {
  file: { name: string; text: string } | null;
  onPick: (file: { name: string; text: string }) => void;
  onFailure: (error: unknown) => void;
}) {
  return (
    <div class="field">
      <label for="definition-file">File with the definition</label>
      <input
        id="definition-file"
        type="file"
        accept=".json,.yaml,.yml,application/json"
        onChange={(event) => {
          const [picked] = event.currentTarget.files ?? [];
          if (picked === undefined) return;
          picked.text().then((text) => onPick({ name: picked.name, text }), onFailure);
        }}
      />
      <span class="hint">
        {file === null ? "JSON or YAML" : `${file.name}, ${formatBytes(file.text.length)}`}
      </span>
    </div>
  );
}
