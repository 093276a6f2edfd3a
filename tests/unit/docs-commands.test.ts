/** Checks that commands, flags, variables, routes and npm scripts named in the documentation exist. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { CONFIG_VARIABLES } from "#api/config/variables.ts";

const PROJECT = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(PROJECT, file), "utf8");

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...["examples", "examples/client", "examples/command"].map((folder) => `${folder}/README.md`),
  ...readdirSync(path.join(PROJECT, "modules")).map((name) => `modules/${name}/README.md`),
  ...readdirSync(path.join(PROJECT, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];
const files = [
  "compose.yaml",
  "Dockerfile",
  "deploy/compose.env.example",
  "deploy/ci/github.yml",
  "deploy/ci/gitlab.yml",
  "deploy/helm/cyrnel/values.yaml",
];

/** Variables that are not the server's, each with the file that knows it. */
const OTHER_VARIABLES: Record<string, string> = {
  CYRNEL_PUBLISH: "compose.yaml",
  CYRNEL_URL: "command/main.ts",
  CYRNEL_REPOSITORY: "deploy/ci/gitlab.yml",
  CYRNEL_VERSION: "deploy/ci/gitlab.yml",
  CYRNEL_TEST_IMAGE: "tests/cluster/run.sh",
  CYRNEL_TEST_OLD_KUBERNETES: "tests/cluster/run.sh",
  CYRNEL_TEST_POSTGRES_IMAGE: "tests/cluster/run.sh",
};

const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

interface OpenApi {
  paths: Record<string, Record<string, unknown>>;
}
const routes = Object.entries((JSON.parse(read("docs/openapi.json")) as OpenApi).paths).flatMap(
  ([route, operations]) =>
    Object.keys(operations).map((method) => ({
      method: method.toUpperCase(),
      matches: new RegExp(`^${route.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    })),
);
/** Answered, and not described by the OpenAPI document. */
const UNDESCRIBED = /^\/(|docs|mcp|openapi\.json|internal\/)$/;

const isRoute = (method: string | null, route: string) =>
  UNDESCRIBED.test(route) ||
  routes.some((known) => (method === null || known.method === method) && known.matches.test(route));

/** The commands with the text of their part of the reference, by path: `service add`. */
const commands = new Map(
  read("docs/cli.md")
    .split("\n### `cyrnel ")
    .slice(1)
    .map((part) => [/^([a-z]+(?: [a-z]+)*)/.exec(part)?.[1] ?? "", part] as const),
);
const GLOBAL_FLAGS = ["--help", "--version", "--json", "--url", "--key"];

function blocks(text: string): string[] {
  return [...text.matchAll(/^ *```(?:bash|sh)[^\n]*\n([\s\S]*?)^ *```$/gm)].map(([, body = ""]) =>
    body.replaceAll("\\\n", " "),
  );
}

describe.each(pages)("%s", (page) => {
  const text = read(page);

  test("the scripts of npm that it names exist", () => {
    const named = [...text.matchAll(/npm run (?:--\w+ )*([\w:-]+)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  test("the routes that it names exist", () => {
    // With a star it is a pattern over the routes of another API.
    const named = [...text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/(?:[\w/:-]|\.(?=\w))*)(?![\w/:*-])/g)];
    const wrong = named.filter(([, method = "", route = ""]) => !isRoute(method, route));
    expect(wrong.map(([whole]) => whole)).toEqual([]);
  });

  test("its requests go to routes that exist", () => {
    const asked = blocks(text).flatMap((body) =>
      [...body.matchAll(/http:\/\/127\.0\.0\.1:9371(\/[^\s"'?#]*)?/g)].map(([, route = "/"]) => route),
    );
    // $process and the like hold a route, or its end.
    const checked = asked.map((route) => route.replace(/^\/?\$(process|location)/, "/processes/1"));
    expect(checked.filter((route) => !isRoute(null, route))).toEqual([]);
  });

  test("its commands and their flags exist", () => {
    const lines = blocks(text).flatMap((body) => body.split("\n"));
    const wrong = lines.flatMap((line) =>
      [...line.matchAll(/\bcyrnel(?:\.cjs"?)? ([a-z][\w-]*(?: [a-z]+)?)([^|;#&>]*)/g)].flatMap(
        ([whole, words = "", rest = ""]) => {
          const [first = ""] = words.split(" ");
          // A name of something else: docker build --tag cyrnel .
          if (![...commands.keys()].some((known) => known.split(" ")[0] === first)) {
            return /\b(npx|bin\/)\s*cyrnel/.test(line) ? [whole] : [];
          }
          const reference = commands.get(words) ?? commands.get(first);
          if (reference === undefined) return [whole];
          const flags = rest.match(/(?<=\s)--[a-z-]+/g) ?? [];
          return flags.filter((flag) => !GLOBAL_FLAGS.includes(flag) && !reference.includes(flag));
        },
      ),
    );
    expect(wrong).toEqual([]);
  });
});

describe.each([...pages, ...files])("%s", (file) => {
  test("the variables that it names exist", () => {
    const named = read(file).match(/\b(?:CYRNEL|OTEL|SHUTDOWN)_[A-Z]+(?:_[A-Z]+)*\b/g) ?? [];
    const unknown = new Set(
      named.filter((name) => {
        const other = OTHER_VARIABLES[name];
        return !(name in CONFIG_VARIABLES) && !(other && read(other).includes(name));
      }),
    );
    expect([...unknown]).toEqual([]);
  });
});

test("the reference of the command has been found", () => {
  expect(commands.size).toBeGreaterThan(30);
  expect([...commands.keys()]).toEqual(expect.arrayContaining(["run", "service add", "approvals approve"]));
});
