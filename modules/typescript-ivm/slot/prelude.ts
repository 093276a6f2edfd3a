/** The script that every isolate evaluates first: it removes eval, installs the realm and defines `import()`. */
import { IMPORT_FUNCTION_ESCAPED as IMPORT_FUNCTION } from "#runner/wire/realm-constants.ts";

declare const CYRNEL_REALM_CORE: string;
declare const CYRNEL_REALM_LIBRARIES: Record<string, string>;

export interface RealmSource {
  /** Expression that takes `require` and returns the install function of runner/child/realm. */
  core: string;
  libraries: Record<string, string>;
}

/** Returns the source that build/runner.ts embeds into the slot's file, because a slot may read no file. */
export function readRealmSource(): RealmSource {
  return { core: CYRNEL_REALM_CORE, libraries: CYRNEL_REALM_LIBRARIES };
}

export interface PreludeOptions {
  allowEval: boolean;
  inlineLibraries: boolean;
}

/**
 * Returns a script whose completion value is `(emit, load, allowWasm, open) => { realm, provide, provideOpened }`.
 * `load(name)` must call `provide` before it returns; `open(text)` may call `provideOpened(text, value)` instead of
 * returning a text. The function for `import()` is a lexical binding, which the global object does not show.
 */
export function makePrelude({ core, libraries }: RealmSource, options: PreludeOptions): string {
  const inline = options.inlineLibraries
    ? Object.entries(libraries).map(([name, library]) => `${JSON.stringify(name)}: ${library},`)
    : [];
  return `${options.allowEval ? "" : DISABLE_EVAL}let ${IMPORT_FUNCTION};
  ((makeInstall) => (emit, load, allowWasm, open) => {
    const libraries = { __proto__: null, ${inline.join("")} };
    const loaded = { __proto__: null };
    let loading;
    const require = (name) => {
      if (name in loaded) return loaded[name];
      loading = name;
      if (!(name in libraries)) load(name);
      const { [name]: library } = libraries;
      return loaded[name] = library(require);
    };
    const opened = { __proto__: null };
    const openOnce = (text) => {
      if (text in opened) return opened[text];
      const answer = open(text);
      return text in opened ? opened[text] : answer;
    };
    const realm = makeInstall(require)(emit, allowWasm, openOnce);
    ${IMPORT_FUNCTION} = async (specifier) => { throw realm.importError(\`\${specifier}\`); };
    const provideOpened = (text, value) => { opened[text] = value; };
    return { __proto__: null, realm, provide: (library) => { libraries[loading] = library; }, provideOpened };
  })(${core})`;
}

/**
 * Removes `eval` and the `Function` constructors. isolated-vm allows code from strings whatever
 * `--disallow-code-generation-from-strings` says.
 */
const DISABLE_EVAL = `(() => {
  'use strict';
  const { defineProperty, getPrototypeOf, setPrototypeOf } = Object;
  const EvalErrorOfRealm = EvalError;
  const refuse = () => {
    throw new EvalErrorOfRealm('Code generation from strings disallowed for this context');
  };
  const replace = (sample, make) => {
    const prototype = getPrototypeOf(sample);
    const { name } = prototype.constructor;
    const replacement = make();
    defineProperty(replacement, 'name', { value: name, configurable: true });
    defineProperty(replacement, 'length', { value: 1, configurable: true });
    defineProperty(replacement, 'prototype', { value: prototype, writable: false });
    const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(prototype, 'constructor');
    defineProperty(prototype, 'constructor', { value: replacement, writable, enumerable, configurable });
    return replacement;
  };
  const make = () => function () { refuse(); };
  const OnlyFunction = replace(function () {}, make);
  defineProperty(globalThis, 'Function', { value: OnlyFunction, writable: true, enumerable: false, configurable: true });
  for (const sample of [async function () {}, function* () {}, async function* () {}]) {
    setPrototypeOf(replace(sample, make), OnlyFunction);
  }
  const { eval: onlyEval } = { eval(source) { if (typeof source === 'string') refuse(); return source; } };
  defineProperty(globalThis, 'eval', { value: onlyEval, writable: true, enumerable: false, configurable: true });
})();
`;
