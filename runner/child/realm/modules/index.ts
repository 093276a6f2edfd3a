/**
 * Modules that a script can import besides its own files. Each is a library that is loaded on first import and
 * evaluated in the script's context, so it can do no more than the script. It may use prototypes that the script can
 * change: only the script depends on it.
 */

import { LINKER } from "../../../wire/realm-constants.ts";
import type { FileAccess } from "../host/file-access.ts";
import type { LinkHost } from "./link.ts";

type Exports = Record<string, unknown>;

/** Functions that modules need from the realm. Importing the realm would bundle it a second time. */
export interface ModuleHost extends LinkHost {
  loadFormatter(): unknown;
  loadFiles(): { access: FileAccess };
}

/** Loads POSIX paths, with the workspace root as the working directory. */
function loadPath(): object {
  const library = require("path-browserify") as typeof import("node:path").posix;
  const resolve = (...names: string[]): string => library.resolve("/", ...names);
  const relative = (from: string, to: string): string => library.relative(resolve(from), resolve(to));
  const path = { ...library, resolve, relative, toNamespacedPath: (name: unknown) => name };
  return Object.assign(path, { posix: path, win32: undefined });
}

function loadStream() {
  return require("./stream.ts") as typeof import("./stream.ts");
}

function loadTimers() {
  return require("./timers.ts") as typeof import("./timers.ts");
}

/**
 * Returns a function that finds namespaces by name, without `node:`. Unknown names are rejected before a script runs.
 */
export function createModules(host: ModuleHost): (specifier: string) => unknown {
  const namespaces = new Map<string, Exports>();
  const loaders: Record<string, () => object> = {
    assert() {
      load("util");
      return (require("./assert.ts") as typeof import("./assert.ts")).assert;
    },
    "assert/strict": () => (load("assert") as { strict: Exports }).strict,
    buffer: () => (require("./buffer.ts") as typeof import("./buffer.ts")).buffer,
    crypto: () => (require("./crypto.ts") as typeof import("./crypto.ts")).crypto,
    events: () => (require("./events.ts") as typeof import("./events.ts")).events,
    fs: () => loadFs().fs,
    "fs/promises": () => loadFs().promises,
    path: loadPath,
    "path/posix": () => load("path"),
    stream: () => loadStream().stream,
    "stream/promises": () => loadStream().stream.promises,
    string_decoder: () => loadStream().stringDecoder,
    timers: () => loadTimers().timers,
    "timers/promises": () => loadTimers().promises,
    url: () => (require("./url.ts") as typeof import("./url.ts")).url,
    util() {
      host.loadFormatter();
      return (require("./util.ts") as typeof import("./util.ts")).util;
    },
    "util/types": () => (load("util") as { types: Exports }).types,
  };
  let fs: ReturnType<typeof import("./fs/index.ts")["createFs"]> | undefined;
  const loadFs = () => {
    const { createFs } = require("./fs/index.ts") as typeof import("./fs/index.ts");
    fs ??= createFs(host.loadFiles().access);
    return fs;
  };
  const modules = new Map<string, Exports>();

  function load(name: string): Exports {
    let module = modules.get(name);
    if (module === undefined) {
      const loader = Object.hasOwn(loaders, name) ? loaders[name] : undefined;
      if (loader === undefined) throw host.importError(name);
      module = loader() as Exports;
      modules.set(name, module);
    }
    return module;
  }

  function find(name: string): Exports {
    let namespace = namespaces.get(name);
    if (namespace === undefined) {
      const module = load(name);
      namespace = Object.create(null, { [Symbol.toStringTag]: { value: "Module" } }) as Exports;
      // Copies getters as they are, because each loads something larger on first use.
      const members = Object.entries(Object.getOwnPropertyDescriptors(module)).filter(
        ([, { enumerable }]) => enumerable,
      );
      Object.defineProperties(namespace, Object.fromEntries(members));
      Object.assign(namespace, { default: module });
      Object.freeze(namespace);
      namespaces.set(name, namespace);
    }
    return namespace;
  }

  return (specifier) => {
    if (specifier !== LINKER) return find(specifier);
    const { link } = require("./link.ts") as typeof import("./link.ts");
    return (files: Parameters<typeof link>[0]) => link(files, find, host);
  };
}
