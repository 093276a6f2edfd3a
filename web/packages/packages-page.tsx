/** npm packages that scripts may import: installed ones, and those being installed. */
import { useRef, useState } from "preact/hooks";
import { tell, useAction } from "../parts/action.tsx";
import { Button, Dialog } from "../parts/controls.tsx";
import { Loaded } from "../parts/failure.tsx";
import { Form, TextField, useFields } from "../parts/fields.tsx";
import { Ago, count, formatBytes } from "../parts/format.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Empty, List, Notice, PageHead, Row } from "../parts/layout.tsx";
import {
  ALL,
  get,
  type Installation,
  type PackageSummary,
  post,
  useGet,
  useResource,
} from "../server/api.ts";

const REFRESH_MS = 2000;
/** How long a finished installation stays visible. */
const SHOWN_MS = 10 * 60_000;
const STEPS: Record<Installation["step"], string> = {
  waiting: "waiting",
  resolving: "contacting the registry",
  checking: "checking age and advisories",
  downloading: "downloading",
  bundling: "bundling",
  trying: "testing the import",
};

export default function PackagesPage() {
  const packages = useGet("/packages", ALL);
  const underWay = useRef(0);
  const installations = useResource(
    async (signal) => {
      const found = await readInstallations(signal);
      const running = found.filter(({ state }) => state === "running").length;
      if (running < underWay.current) packages.reload();
      underWay.current = running;
      return found;
    },
    [],
    REFRESH_MS,
  );
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <PageHead
        title="Packages"
        about="npm packages that scripts may import. Each is one bundled file with the same rights as the script."
      >
        <Button look="primary" icon="plus" onClick={() => setAdding(true)}>
          Add package
        </Button>
      </PageHead>
      <div class="stack">
        {installations.data?.map((one) => (
          <Progress key={one.id} installation={one} />
        ))}
        <Loaded resource={packages}>
          {(data) => (
            <List
              items={data.packages}
              empty={
                <Empty
                  icon="package"
                  title="No packages yet"
                  text="Add one from the server's npm registry. Scripts can then import it."
                />
              }
            >
              {(one) => (
                <Row key={`${one.name}@${one.version}`} side={<Standing of={one} />}>
                  <a href={`#/packages/${encodeURIComponent(one.name)}/${one.version}`}>
                    {one.name} <span class="muted">{one.version}</span>
                  </a>
                  <p class="clamp">
                    <Plain text={one.description} />
                  </p>
                </Row>
              )}
            </List>
          )}
        </Loaded>
      </div>
      {isAdding ? (
        <AddPackage
          onClose={() => {
            setAdding(false);
            installations.reload();
          }}
        />
      ) : null}
    </>
  );
}

/** Only keys that may install packages can see installations. */
async function readInstallations(signal: AbortSignal): Promise<readonly Installation[]> {
  try {
    const { installations } = await get("/package-installations", {
      params: { query: { limit: "20" } },
      signal,
    });
    return installations.filter(
      ({ completedAt, state }) =>
        state === "running" || (state === "failed" && Date.now() - Date.parse(completedAt ?? "") < SHOWN_MS),
    );
  } catch {
    return [];
  }
}

function Standing({ of: { license, sizes, source, installedAt, advisories } }: { of: PackageSummary }) {
  return (
    <>
      {advisories === null || advisories === 0 ? null : (
        <span class="chip wait">{count(advisories, "advisory", "advisories")}</span>
      )}
      <span>{license ?? "no licence"}</span>
      <span>{formatBytes(sizes.code)}</span>
      {source === "starter" ? <span class="chip">bundled</span> : <Ago at={installedAt} />}
    </>
  );
}

function Progress({
  installation: { name, range, state, step, done, total, error },
}: {
  installation: Installation;
}) {
  const asked = range === "latest" ? name : `${name}@${range}`;
  if (state === "failed") {
    return (
      <Notice look="bad" icon="circle-alert">
        {asked} could not be installed: <Plain text={error ?? ""} />
      </Notice>
    );
  }
  return (
    <Notice look="wait" icon="download" role="status">
      {asked} is being installed: {STEPS[step]}
      {total === null ? "" : ` ${done} of ${total}`}
    </Notice>
  );
}

function AddPackage({ onClose }: { onClose: () => void }) {
  const { values, field } = useFields({ name: "", range: "" });
  const [lockFile, setLockFile] = useState<File | null>(null);
  const adding = useAction();
  const add = () =>
    adding.run(async () => {
      const { name, range } = values;
      const lock = lockFile === null ? null : readLock(await lockFile.text());
      const body = { name, ...(range !== "" && { range }), ...(lock !== null && { lock }) };
      const installation = await post("/packages", { body });
      tell(`${installation.name} is being installed.`);
      onClose();
    });
  return (
    <Dialog title="Add package" onClose={onClose}>
      <Form action={adding} submit="Add" onSubmit={add}>
        <p class="muted">
          The package is downloaded with its dependencies, checked and tested. Its install scripts are not
          run.
        </p>
        <div class="fields">
          <TextField label="Name" {...field("name")} required placeholder="zod" />
          <TextField label="Version or range" {...field("range")} placeholder="latest" />
          <div class="field">
            <label for="package-lock">Lock file</label>
            <input
              id="package-lock"
              type="file"
              accept=".json,application/json"
              onChange={(event) => setLockFile(event.currentTarget.files?.[0] ?? null)}
            />
            <span class="hint">Optional package-lock.json, to install exactly its dependency tree</span>
          </div>
        </div>
      </Form>
    </Dialog>
  );
}

function readLock(text: string): Record<string, unknown> {
  try {
    const lock: unknown = JSON.parse(text);
    if (typeof lock === "object" && lock !== null && !Array.isArray(lock)) return { ...lock };
  } catch {}
  throw new Error("The lock file is not a JSON object. Choose a package-lock.json.");
}
