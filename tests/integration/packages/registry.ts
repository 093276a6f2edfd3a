/** A real registry (verdaccio) as a process, what is published to it, and a front that says something else where a test wants. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { pack, type Header as TarHeader } from "tar-stream";

const VERDACCIO = path.resolve(import.meta.dirname, "../../node_modules/verdaccio/bin/verdaccio");
const START_MS = 30_000;

export type TarEntry = Partial<TarHeader> & { name: string; body?: string | Buffer };

export interface Publication {
  name: string;
  version?: string;
  /** Files below `package/`; `package.json` is made. */
  files?: Record<string, string>;
  /** Members of package.json, and of what the registry says of the version. */
  manifest?: Record<string, unknown>;
  /** In place of the tarball that is made of `files`. */
  tarball?: Buffer;
  /** What the registry is told of the tarball, over what is true. */
  dist?: Record<string, unknown>;
}

export interface Registry extends AsyncDisposable {
  url: string;
  publish(what: Publication): Promise<void>;
}

export async function startRegistry(): Promise<Registry> {
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-verdaccio-"));
  const port = await findPort();
  const config = path.join(folder, "config.yaml");
  await writeFile(
    config,
    [
      `storage: ${path.join(folder, "storage")}`,
      `auth: { htpasswd: { file: ${path.join(folder, "users")} } }`,
      "web: { enable: false }",
      "max_body_size: 200mb",
      "packages: { '@*/*': { access: $all, publish: $anonymous }, '**': { access: $all, publish: $anonymous } }",
      "log: { type: stdout, level: error }",
      "",
    ].join("\n"),
  );
  const verdaccio: ChildProcess = spawn(
    process.execPath,
    [VERDACCIO, "--config", config, "--listen", `127.0.0.1:${port}`],
    { cwd: folder, stdio: "ignore", env: { HOME: folder, PATH: process.env.PATH } },
  );
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + START_MS;
  const isUp = () =>
    fetch(`${url}/-/ping`).then(
      (answer) => answer.ok,
      () => false,
    );
  while (!(await isUp())) {
    if (Date.now() > deadline || verdaccio.exitCode !== null) throw new Error("verdaccio did not start");
    await sleep(50);
  }
  return {
    url,
    publish: (what) => publish(url, what),
    async [Symbol.asyncDispose]() {
      verdaccio.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function findPort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

/** As `npm publish` does it. */
async function publish(
  url: string,
  {
    name,
    version = "1.0.0",
    files = { "index.js": "exports.ok = true;" },
    manifest = {},
    tarball,
    dist = {},
  }: Publication,
): Promise<void> {
  const described = { name, version, main: "index.js", license: "MIT", ...manifest };
  const bytes =
    tarball ??
    (await makeTarball([
      { name: "package/package.json", body: JSON.stringify(described) },
      ...Object.entries(files).map(([file, body]) => ({ name: `package/${file}`, body })),
    ]));
  const file = `${name.split("/").at(-1)}-${version}.tgz`;
  const known = await fetch(`${url}/${name.replace("/", "%2f")}`).then((answer) =>
    answer.ok ? answer.json() : null,
  );
  const body = {
    _id: name,
    name,
    ...(known && { _rev: known._rev }),
    "dist-tags": { latest: version },
    versions: {
      [version]: {
        ...described,
        dist: {
          integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
          shasum: createHash("sha1").update(bytes).digest("hex"),
          tarball: `${url}/${name}/-/${file}`,
          ...dist,
        },
      },
    },
    _attachments: {
      [file]: {
        content_type: "application/octet-stream",
        data: bytes.toString("base64"),
        length: bytes.length,
      },
    },
  };
  const answer = await fetch(`${url}/${name.replace("/", "%2f")}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  // Tests that are tried once more publish once more.
  if (!answer.ok && answer.status !== 409)
    throw new Error(`publishing ${name}: ${answer.status} ${await answer.text()}`);
}

/** In a thread: what serves and is asked in this process goes on meanwhile. */
export const compress = promisify(gzip);

/** Entries as they are given, whatever they are. */
export async function makeTarball(entries: readonly TarEntry[]): Promise<Buffer> {
  const tar = pack();
  for (const { body = "", ...header } of entries) tar.entry(header as TarHeader, body);
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return compress(Buffer.concat(chunks));
}

/** Answers true where it has answered. */
export type Front = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

export interface FrontedRegistry extends AsyncDisposable {
  url: string;
  front: Front;
  /** Paths that were asked for. */
  asked: string[];
}

/** Hands on to the registry what `front` does not answer; descriptions name this address as that of tarballs. */
export async function startFront(registry: Registry): Promise<FrontedRegistry> {
  const asked: string[] = [];
  const started: FrontedRegistry = {
    url: "",
    front: () => false,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  const server = createHttpServer(async (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (await started.front(request, response)) return;
    const answer = await fetch(registry.url + request.url);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const type = answer.headers.get("content-type") ?? "application/octet-stream";
    response.writeHead(answer.status, { "content-type": type });
    response.end(type.includes("json") ? bytes.toString().replaceAll(registry.url, started.url) : bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  started.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return started;
}

export function answerJson(response: ServerResponse, body: unknown, status = 200): true {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  return true;
}
