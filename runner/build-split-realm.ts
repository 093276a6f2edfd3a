/**
 * The realm as one small core and the libraries it loads on first use, each a script of its own: an isolate compiles
 * the core for every run, a library only for a run that uses it. Which parts are libraries is read from the source:
 * every `require()` in the realm's own files names one.
 */
import { join, sep } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

export interface SplitRealm {
  /** An expression: a function that takes `require` and answers the realm's install function. */
  core: string;
  /** By the name `require` is called with: an expression, a function that takes `require` and answers the exports. */
  libraries: Record<string, string>;
}

/** Builds both from the same options as the realm in one piece. `root` is the folder of runner. */
export async function buildSplitRealm(options: BuildOptions, root: string): Promise<SplitRealm> {
  const realmFolder = join(root, "child/realm") + sep;
  const install = join(realmFolder, "install.ts");
  const names = new Map<string, string>();
  let core = "";
  let libraries: Record<string, string> = {};
  // A library may name further ones, and those built before must then leave them out.
  for (let known = -1; known < names.size; ) {
    known = names.size;
    core = await bundle(options, install, "install", realmFolder, names);
    libraries = {};
    for (const [path, name] of names) libraries[name] = await bundle(options, path, null, realmFolder, names);
  }
  return { core, libraries };
}

/** One part as an expression. `member`: what of its exports is answered; null for all. */
async function bundle(
  options: BuildOptions,
  entry: string,
  member: string | null,
  realmFolder: string,
  names: Map<string, string>,
): Promise<string> {
  const { outputFiles } = await build({
    ...options,
    entryPoints: [entry],
    banner: { js: '((require)=>{"use strict";const module={exports:{}},{exports}=module;' },
    footer: { js: `;return module.exports${member === null ? "" : `.${member}`}})` },
    plugins: [leaveOutLibraries(entry, realmFolder, names), ...(options.plugins ?? [])],
  });
  return (outputFiles?.[0]?.text ?? "").trim().replace(/;$/, "");
}

function leaveOutLibraries(entry: string, realmFolder: string, names: Map<string, string>): Plugin {
  const isResolving = Symbol("isResolving");
  return {
    name: "leave-out-libraries",
    setup({ onResolve, resolve }) {
      onResolve({ filter: /./ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
        if (pluginData === isResolving || kind === "entry-point") return null;
        const found = await resolve(path, { importer, resolveDir, kind, pluginData: isResolving });
        if (found.errors.length > 0 || found.path === entry) return null;
        if (kind === "require-call" && importer.startsWith(realmFolder) && !names.has(found.path)) {
          names.set(found.path, `library-${names.size + 1}`);
        }
        const name = names.get(found.path);
        return name === undefined ? null : { path: name, external: true };
      });
    },
  };
}
