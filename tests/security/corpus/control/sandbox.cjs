/**
 * The weaker sandboxes the probes are tried in. argv: which one. Reads the script from standard input and prints one
 * line: what the script returned, and what the host sees of itself and of its bridge afterwards.
 */
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const vm = require("node:vm");

const kind = process.argv[2];
const script = fs.readFileSync(0, "utf8");
const body = `(async () => {\n${script}\n})()`;
const AsyncFunction = (async () => {}).constructor;
const write = fs.writeSync.bind(fs, 1);
const { stringify, parse } = JSON;
const exit = process.reallyExit.bind(process);
const frames = [];
const lookAt = () => ({ polluted: {}.polluted !== undefined || [].polluted !== undefined });

/** A service the way a quick host writes it. */
const hostTools = {
  test: {
    echo: async (parameters) => parameters,
    fail: async (parameters) => {
      throw Object.assign(new Error(parameters?.message), parameters);
    },
    delay: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)),
    nothing: async () => undefined,
    hang: () => new Promise(() => {}),
  },
};
function merge(target, source) {
  for (const key of Object.keys(source)) {
    if (typeof source[key] === "object" && source[key] !== null && typeof target[key] === "object")
      merge(target[key], source[key]);
    else target[key] = source[key];
  }
  return target;
}
/** A workspace the way a quick host writes it: a folder, and names that are paths in it. */
function makeFolder() {
  const above = fs.mkdtempSync(path.join(os.tmpdir(), "cyrnel-control-"));
  const folder = path.join(above, "workspace");
  fs.mkdirSync(folder);
  return {
    folder,
    remove: () => fs.rmSync(above, { recursive: true, force: true }),
    text: async (name) => fs.readFileSync(path.join(folder, name), "utf8"),
    write: async (name, data) => fs.writeFileSync(path.join(folder, name), data),
  };
}
const hostOutput = {};
let files;
const hostCyrnel = {
  output: (value) => void merge(hostOutput, parse(stringify(value))),
  discoverTools: async () => [{ id: "echo" }],
  getTool: async () => ({ id: "echo" }),
  process: { id: 1, ref: null },
  services: hostTools,
  get files() {
    files ??= makeFolder();
    return files;
  },
};
const hostConsole = Object.fromEntries(
  ["log", "info", "debug", "warn", "error", "trace", "table", "dir"].map((name) => [
    name,
    (...values) => void require("node:util").format(...values),
  ]),
);

const SANDBOXES = {
  "plain-node": () => {
    Object.assign(globalThis, {
      tools: hostTools,
      cyrnel: hostCyrnel,
      require,
      module,
      console: hostConsole,
    });
    return new AsyncFunction(script)();
  },
  "naive-vm": () => {
    const {
      setTimeout,
      setInterval,
      setImmediate,
      clearTimeout,
      queueMicrotask,
      structuredClone,
      URL,
      TextEncoder,
      TextDecoder,
      AbortController,
      AbortSignal,
      DOMException,
      Event,
      CryptoKey,
      CustomEvent,
      EventTarget,
      atob,
      btoa,
      crypto,
      fetch,
      performance,
    } = globalThis;
    const context = vm.createContext({
      console: hostConsole,
      tools: hostTools,
      cyrnel: hostCyrnel,
      setTimeout,
      setInterval,
      setImmediate,
      clearTimeout,
      queueMicrotask,
      structuredClone,
      URL,
      TextEncoder,
      TextDecoder,
      AbortController,
      AbortSignal,
      DOMException,
      Event,
      CryptoKey,
      CustomEvent,
      EventTarget,
      atob,
      btoa,
      crypto,
      fetch,
      performance,
    });
    return vm.runInContext(body, context, { filename: "script.js" });
  },
  "naive-bridge": () => {
    const context = vm.createContext(vm.constants.DONT_CONTEXTIFY);
    const bridge = vm.runInContext(NAIVE_BRIDGE, context);
    setInterval(() => frames.push(...bridge.drain().split("\n")), 1).unref();
    return vm.runInContext(body, context).finally(() => frames.push(...bridge.drain().split("\n")));
  },
};
/** Everything in the script's own realm, nothing captured before, messages joined from strings, one a line. */
const NAIVE_BRIDGE = `
  const outbox = []; let lastId = 0;
  const send = (method, rest) => { outbox.push('{"method":"' + method + '",' + rest + '}'); };
  globalThis.console = { log: (...values) => send("stdout", '"text":"' + values.join(" ") + '"') };
  globalThis.console.error = globalThis.console.log;
  globalThis.tools = new Proxy({}, { get: (_, service) => new Proxy({}, { get: (_, tool) => async (parameters) => { send("invoke", '"id":' + ++lastId + ',"tool":"' + service + "." + tool + '","parameters":' + JSON.stringify(parameters ?? {})); return parameters; } }) });
  globalThis.cyrnel = { output: (value) => { let text = ""; for (const key in value) text += (text ? "," : "") + '"' + key + '":' + JSON.stringify(value[key]); send("output", '"value":{' + text + "}"); }, process: {} };
  globalThis.setTimeout = (callback, ms) => { send("timer", '"ms":' + ms); Promise.resolve().then(callback); return lastId; };
  globalThis.clearTimeout = () => {};
  ({ drain: () => outbox.splice(0).join("\\n") })`;

const ALLOWED = new Set(["stdout", "invoke", "output", "timer"]);

/** Frames that are no message this bridge sends, or that say they are forged. */
function findForged() {
  return frames.filter((line) => {
    if (line === "") return false;
    if (line.includes("FORGED-FRAME")) return true;
    try {
      return !ALLOWED.has(parse(line).method);
    } catch {
      return true;
    }
  });
}

process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});
function finish(returned) {
  let loot;
  try {
    loot = stringify(returned);
  } catch {
    loot = '["unserialisable"]';
  }
  write(
    `\n${stringify({ loot: loot === undefined ? null : parse(loot), forged: findForged().slice(0, 5), ...lookAt() })}\n`,
  );
  files?.remove();
  exit(0);
}
Promise.resolve()
  .then(SANDBOXES[kind])
  .then(finish, (error) => finish({ error: String(error?.stack ?? error) }));
setTimeout(() => finish({ error: "the script never ended" }), 8000);
