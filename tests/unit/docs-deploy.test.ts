/** What cannot be run here (docker, kubectl, helm) is compared with the files it speaks of: names, ports, users, paths, values. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { load } from "js-yaml";
import { afterAll, describe, expect, test } from "vitest";
import { CONFIG_VARIABLES } from "#api/config/variables.ts";
import { parseConfig } from "#api/config.ts";

const PROJECT = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(PROJECT, file), "utf8");

interface Service {
  environment: Record<string, string>;
  ports?: string[];
  user?: string;
  volumes: string[];
  tmpfs?: string[];
  healthcheck?: { test: string[] };
  stop_grace_period: string;
}
const compose = load(read("compose.yaml")) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};
const api = compose.services.api as Service;
const dockerfile = read("Dockerfile");
const docker = read("docs/docker.md");
const kubernetes = read("docs/kubernetes.md");
const values = load(read("deploy/helm/cyrnel/values.yaml")) as Record<string, unknown>;

/** Of one kind of fence, with lines that end in a backslash joined. */
function blocks(text: string, info: string): string[] {
  return [...text.matchAll(new RegExp(`^( *)\`\`\`${info}\\n([\\s\\S]*?)^ *\`\`\``, "gm"))].map(
    ([, indent = "", body = ""]) =>
      body.replaceAll(new RegExp(`^${indent}`, "gm"), "").replaceAll("\\\n", " "),
  );
}
const bash = (text: string) => blocks(text, "bash[^\\n]*").join("\n");

const folder = mkdtempSync(path.join(tmpdir(), "cyrnel-docs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What compose makes of `${NAME}`, `${NAME:-default}` and `${NAME:?message}`; throws the message. */
function interpolate(text: string, given: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind?: string, rest = "") => {
    if (given[name]) return given[name];
    if (kind === "?") throw new Error(`${name}: ${rest}`);
    return rest;
  });
}

describe("Docker", () => {
  test("the commands of docs/docker.md make an .env that compose.yaml accepts", () => {
    const place = path.join(folder, "docker");
    mkdirSync(path.join(place, "deploy"), { recursive: true });
    cpSync(path.join(PROJECT, "deploy/compose.env.example"), path.join(place, "deploy/compose.env.example"));
    const prepare = bash(docker)
      .split("\n")
      .filter((line) => /^(cp deploy|sed -i)/.test(line));
    execFileSync("bash", ["-euc", prepare.join("\n")], { cwd: place });
    expect(statSync(path.join(place, ".env")).mode & 0o777).toBe(0o600);
    const given = Object.fromEntries(
      [...readFileSync(path.join(place, ".env"), "utf8").matchAll(/^(\w+)=(.*)$/gm)].map(
        ([, name, value]) => [name, value],
      ),
    ) as Record<string, string>;

    const variables = Object.fromEntries(
      Object.entries(api.environment).map(([name, value]) => [name, interpolate(String(value), given)]),
    );
    // As the container has it: the image's variables beside those of compose.yaml.
    const image = { HOST: "0.0.0.0", PORT: "9371", CYRNEL_DATA_DIR: "/var/lib/cyrnel" };
    expect(parseConfig({ ...variables, ...image })).toMatchObject({
      ok: true,
      config: {
        apiKey: given.CYRNEL_API_KEY,
        databaseUrl: `postgres://cyrnel:${given.POSTGRES_PASSWORD}@postgres:5432/cyrnel`,
      },
    });
    expect(() => interpolate(JSON.stringify(compose), {})).toThrow("copy deploy/compose.env.example");
  });

  test("compose.yaml hands on what docker.md says, and only variables that the server knows", () => {
    const known = Object.keys(CONFIG_VARIABLES);
    expect(Object.keys(api.environment).filter((name) => !known.includes(name))).toEqual([]);
    const [, settings = ""] = /## Settings\n([\s\S]*?)\n## /.exec(docker) ?? [];
    const told = settings
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .flatMap((line) => line.split("|")[1]?.match(/[A-Z_]+/g) ?? []);
    const taken = new Set(read("compose.yaml").match(/(?<=\$\{)[A-Z_]+/g));
    expect(told.filter((name) => !taken.has(name))).toEqual([]);
    const asked = ["POSTGRES_PASSWORD", "CYRNEL_API_KEY", "CYRNEL_SECRETS_KEY"];
    expect([...taken].filter((name) => !told.includes(name)).sort()).toEqual(asked.sort());
    for (const [yaml = ""] of blocks(docker, "yaml").map((body) => [body])) {
      const override = load(yaml) as { services: Record<string, Service> };
      for (const [name, service] of Object.entries(override.services)) {
        expect(Object.keys(compose.services)).toContain(name);
        expect(Object.keys(service.environment).filter((variable) => !known.includes(variable))).toEqual([]);
      }
    }
  });

  test("port, user, folders and times are the same everywhere", () => {
    expect(dockerfile).toContain("EXPOSE 9371");
    expect(dockerfile).toMatch(/^ENV .*\bHOST=0\.0\.0\.0 PORT=9371 CYRNEL_DATA_DIR=\/var\/lib\/cyrnel$/m);
    expect(dockerfile).toContain("USER 1000:1000");
    expect(dockerfile).toContain("STOPSIGNAL SIGTERM");
    expect(dockerfile).toContain("/health/live");
    expect(dockerfile).toMatch(/ENTRYPOINT \["\/usr\/bin\/tini"/);
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=/m);
    expect(api.user).toBe("1000:1000");
    expect(api.volumes).toContain("data:/var/lib/cyrnel");
    expect(interpolate((api.ports ?? [])[0] ?? "", {})).toBe("127.0.0.1:9371:9371");
    for (const [, published] of bash(docker).matchAll(/--publish (\S+)/g))
      expect(published).toBe("127.0.0.1:9371:9371");
    expect(docker).toContain(`stop_grace_period: ${api.stop_grace_period}`);
    expect(Number.parseInt(api.stop_grace_period, 10) * 1000).toBeGreaterThan(
      Number(CONFIG_VARIABLES.SHUTDOWN_TIMEOUT_MS.fallback),
    );
  });

  test("what is done inside the containers names a service, a user and a database of compose.yaml", () => {
    const lines = bash(`${docker}\n${read("docs/backup.md")}`).split("\n");
    const executed = lines.filter((line) => line.includes("docker compose exec"));
    expect(executed.length).toBe(2);
    const postgres = compose.services.postgres as Service;
    for (const line of executed) {
      expect(line).toMatch(/exec -T postgres pg_(dump|restore) /);
      expect(line).toContain(`--username ${postgres.environment.POSTGRES_USER}`);
      expect(line).toMatch(new RegExp(`(--dbname | )${postgres.environment.POSTGRES_DB}\\b`));
    }
    for (const [, service = ""] of docker.matchAll(/docker compose logs --follow (\w+)/g)) {
      expect(Object.keys(compose.services)).toContain(service);
    }
  });
});

describe("Kubernetes", () => {
  test("the values that are told or set exist in the chart", () => {
    const set = bash(kubernetes).match(/(?<=--set )[\w.]+/g) ?? [];
    const table = [...kubernetes.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(
      ([, cell = ""]) => cell.match(/(?<=`)[\w.]+(?=`)/g) ?? [],
    );
    const inText = kubernetes.match(/(?<=`)(?:networkPolicy|autoscaling|image|secret)\.[\w.]+/g) ?? [];
    expect(set.length).toBeGreaterThan(1);
    expect(table.length).toBeGreaterThan(20);
    const missing = [...set, ...table, ...inText].filter((name) => {
      let place: unknown = values;
      for (const part of name.split(".")) place = (place as Record<string, unknown> | undefined)?.[part];
      return place === undefined;
    });
    expect(missing).toEqual([]);
    for (const yaml of blocks(kubernetes, "yaml")) {
      expect(Object.keys(load(yaml) as object).filter((name) => !(name in values))).toEqual([]);
    }
    // Every value of the chart is told.
    const told = [...table, ...kubernetes.matchAll(/`(\w+)`/g)].flat();
    expect(Object.keys(values).filter((name) => !told.includes(name))).toEqual([]);
  });

  test("the secret has what the server needs, and goes by the name that the chart is given", () => {
    const commands = bash(kubernetes);
    const [, name] = /create secret generic (\S+)/.exec(commands) ?? [];
    expect(commands).toContain(`--set secret.existingSecret=${name}`);
    const literals = commands.match(/(?<=--from-literal=)\w+/g) ?? [];
    expect(literals.sort()).toEqual(["CYRNEL_API_KEY", "CYRNEL_SECRETS_KEY", "DATABASE_URL"]);
    for (const [, chart = ""] of commands.matchAll(/helm install \S+ (\S+)/g)) {
      expect(existsSync(path.join(PROJECT, chart, "Chart.yaml"))).toBe(true);
    }
  });
});

describe("continuous integration", () => {
  test("the recipes take what ci.md says", () => {
    const page = read("docs/ci.md");
    for (const file of ["deploy/ci/github.yml", "deploy/ci/gitlab.yml"]) {
      const recipe = read(file);
      expect(page).toContain(`[\`${file}\`](../${file})`);
      for (const word of [
        "CYRNEL_REPOSITORY",
        "CYRNEL_VERSION",
        "--require strict",
        "--local",
        "SCRIPTS: scripts",
        "results",
        "doctor",
      ]) {
        expect(recipe).toContain(word);
      }
    }
  });
});
