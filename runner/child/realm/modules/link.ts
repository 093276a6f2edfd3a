/**
 * Links a script's source files in the form that runner/source/modules/link.ts generates. All exports exist before
 * the first file runs, so cycles work as with ECMAScript modules. Files run one after another, imports first;
 * packages are evaluated before the files that import them.
 */
export interface LinkHost {
  importError(specifier: unknown): Error;
  /** Returns the function of a package's bundle, or a string that says why it is missing. */
  openPackage(digest: string): unknown;
}

type Namespace = Record<string, unknown>;
type Getters = Record<string, () => unknown>;
/** Body of a file. It declares its exports immediately and continues when `turn` resolves. */
type Body = (exports: (getters: Getters) => void, turn: Promise<void>) => Promise<unknown>;

/** A part of an imported package, by the digest of its bundle. */
interface PackageTarget {
  digest: string;
  name: string;
  path: string;
}
type Target = number | string | PackageTarget | { refused: string } | null | undefined;

/**
 * One file. `targets` are indexes of files, names of built-in modules, packages, or errors for imports that were not
 * found.
 */
interface File {
  json?: string;
  text?: string;
  targets: Target[];
  statics: number;
  /** Index of the target by `$` and the specifier of an `import()` call. */
  calls: Record<string, number>;
  /** Names used from built-in modules and packages, by the target's index. */
  names: Record<string, string[]>;
  /** Places of these imports, such as `script.ts:2:1`. */
  places: Record<string, string>;
  stars: number[];
  run?: (
    require: (index: number) => Namespace,
    namespace: (index: number) => Namespace,
    define: (body: Body) => void,
    importing: (specifier: unknown) => Promise<Namespace>,
  ) => void;
}

interface Linked {
  file: File;
  namespace: Namespace;
  /** The same namespace, with `$` before each name. */
  facade: Namespace;
  own: Set<string>;
  start: () => void;
  finished: Promise<unknown>;
  isInstantiated: boolean;
  hasStarted: boolean;
}

/** Runs the first of `files`, which is the script, and resolves with its result. */
export async function link(
  files: readonly File[],
  builtin: (name: string) => Namespace,
  { importError, openPackage }: LinkHost,
): Promise<unknown> {
  const all = files.map(create);
  const facades = new Map<Namespace, Namespace>();
  const packages = createPackages(openPackage, (name) => builtin(name).default);

  function create(file: File): Linked {
    const namespace = Object.create(null, { [Symbol.toStringTag]: { value: "Module" } });
    const linked: Linked = {
      file,
      namespace,
      facade: Object.create(null),
      own: new Set(),
      start() {},
      finished: Promise.resolve(),
      isInstantiated: false,
      hasStarted: false,
    };
    if (file.text !== undefined) expose(linked, "default", { value: file.text });
    if (file.json !== undefined) {
      const value = JSON.parse(file.json);
      expose(linked, "default", { value });
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        for (const key of Object.keys(value))
          if (key !== "default") expose(linked, key, { value: value[key] });
      }
    }
    return linked;
  }

  function expose({ namespace, facade, own }: Linked, name: string, member: PropertyDescriptor): void {
    own.add(name);
    Object.defineProperty(namespace, name, { ...member, enumerable: true });
    Object.defineProperty(facade, `$${name}`, member);
  }

  function namespaceOf(target: string | PackageTarget): Namespace {
    return typeof target === "string" ? builtin(target) : packages(target);
  }

  function facadeOf(namespace: Namespace): Namespace {
    let facade = facades.get(namespace);
    if (facade === undefined) {
      facade = Object.create(null) as Namespace;
      for (const key of Object.keys(namespace)) {
        Object.defineProperty(facade, `$${key}`, { get: () => namespace[key] });
      }
      facades.set(namespace, facade);
    }
    return facade;
  }

  /** Calls the code of a file and of all its imports, up to where each waits for its turn. */
  function instantiate(first: Linked): Linked[] {
    const order: Linked[] = [];
    const visit = (linked: Linked): void => {
      if (linked.isInstantiated) return;
      linked.isInstantiated = true;
      const { file } = linked;
      if (file.run === undefined) return;
      for (let index = 0; index < file.statics; index++) {
        const target = file.targets[index];
        if (typeof target === "number") visit(all[target] as Linked);
        else checkNames(target as string | PackageTarget, file.names[index], file.places[index]);
      }
      order.push(linked);
      const turn = Promise.withResolvers<void>();
      linked.start = turn.resolve;
      file.run(
        (index) => memberOf(file.targets[index], "facade"),
        (index) => memberOf(file.targets[index], "namespace"),
        (body) => {
          linked.finished = body((getters) => exposeAll(linked, getters), turn.promise);
          // Importers receive the error. Nothing waits for a file after one that failed.
          linked.finished.catch(() => {});
        },
        (specifier) => importCall(file, specifier),
      );
    };
    visit(first);
    for (const linked of order) exposeStars(linked, linked, new Set());
    for (const linked of order) Object.preventExtensions(linked.namespace);
    return order;
  }

  function memberOf(target: Target, member: "facade" | "namespace"): Namespace {
    if (typeof target === "number") return (all[target] as Linked)[member];
    const namespace = namespaceOf(target as string | PackageTarget);
    return member === "facade" ? facadeOf(namespace) : namespace;
  }

  function checkNames(target: string | PackageTarget, used: readonly string[] = [], place = ""): void {
    const namespace = namespaceOf(target);
    const missing = used.find((key) => !Object.hasOwn(namespace, key));
    if (missing === undefined) return;
    const isPackage = typeof target === "object";
    const name = isPackage
      ? `The package ${target.name + target.path.slice(1)}`
      : `The module node:${target}`;
    const error = new SyntaxError(
      isPackage && missing === "default"
        ? `${name} has no default export: import what it exports by name.`
        : `${name} has no export named "${missing}"${isPackage ? "" : " here"}.${listNear(missing, Object.keys(namespace))}`,
    );
    // No script code threw this error, so its stack is set to the import that caused it.
    error.stack = `SyntaxError: ${error.message}\n    at ${place}`;
    throw error;
  }

  function exposeAll(linked: Linked, getters: Getters): void {
    for (const name of Object.keys(getters)) expose(linked, name, { get: getters[name] as () => unknown });
  }

  /** Adds to `linked` what `from` exports with `export *`, unless `linked` has that name. */
  function exposeStars(linked: Linked, from: Linked, seen: Set<Linked>): void {
    if (seen.has(from)) return;
    seen.add(from);
    for (const index of from.file.stars ?? []) {
      const target = from.file.targets[index];
      const source = typeof target === "number" ? (all[target] as Linked) : null;
      const namespace = memberOf(target, "namespace");
      const names = source === null ? Object.keys(namespace) : [...source.own];
      for (const name of names) {
        if (name === "default" || Object.hasOwn(linked.namespace, name)) continue;
        const get = () => namespace[name];
        Object.defineProperty(linked.namespace, name, { get, enumerable: true });
        Object.defineProperty(linked.facade, `$${name}`, { get });
      }
      if (source !== null) exposeStars(linked, source, seen);
    }
  }

  async function evaluate(first: Linked): Promise<Namespace> {
    const order = instantiate(first);
    for (const linked of order) {
      linked.hasStarted = true;
      linked.start();
      await linked.finished;
    }
    // Another import may have started it.
    await first.finished;
    return first.namespace;
  }

  async function importCall(file: File, specifier: unknown): Promise<Namespace> {
    const key = `$${specifier}`;
    const target = Object.hasOwn(file.calls, key) ? file.targets[file.calls[key] as number] : null;
    if (target === null || target === undefined) throw importError(specifier);
    if (typeof target === "number") return evaluate(all[target] as Linked);
    if (typeof target === "object" && "refused" in target) throw new Error(target.refused);
    return namespaceOf(target);
  }

  const [entry] = all as [Linked];
  await evaluate(entry);
  // Not returned directly: that would call `then`, which the script may have replaced.
  return await entry.finished;
}

/** Lists the names that begin like the missing one, or all if there are few. */
function listNear(missing: string, names: readonly string[]): string {
  const start = missing.slice(0, NEAR_CHARACTERS).toLowerCase();
  const named = names.filter((name) => name !== "default");
  const near = named.filter((name) => named.length <= MAX_NEAR || name.toLowerCase().startsWith(start));
  return near.length === 0 ? "" : ` There are ${near.slice(0, MAX_NEAR).join(", ")}.`;
}
const NEAR_CHARACTERS = 3;
const MAX_NEAR = 5;

/** Function of a package bundle. Returns the importable modules by path, each evaluated on its first call. */
type Bundle = (require: (name: string) => unknown) => Record<string, () => object>;

/**
 * Returns a function that finds package namespaces. A failed evaluation fails again with the same error, as for
 * ECMAScript modules.
 */
function createPackages(open: LinkHost["openPackage"], require: (name: string) => unknown) {
  const tables = new Map<string, ReturnType<Bundle>>();
  const known = new Map<string, { namespace: Namespace } | { error: unknown }>();

  function openTable({ digest, name }: PackageTarget): ReturnType<Bundle> {
    let table = tables.get(digest);
    if (table === undefined) {
      const bundle = open(digest);
      if (typeof bundle !== "function")
        throw new Error(`The package ${name} cannot be loaded: ${bundle ?? "there is no memory for it"}.`);
      table = (bundle as Bundle)((module) => {
        if (typeof module === "string" && !module.startsWith("cyrnel:")) return require(module);
        throw new Error(`The package ${name} asks for a module that is none: ${String(module)}.`);
      });
      tables.set(digest, table);
    }
    return table;
  }

  function evaluate(target: PackageTarget): Namespace {
    const table = openTable(target);
    const load = Object.hasOwn(table, target.path) ? table[target.path] : undefined;
    if (load === undefined) throw new Error(`The package ${target.name} has no export "${target.path}".`);
    const exports = load() as Namespace;
    const namespace = Object.create(null, { [Symbol.toStringTag]: { value: "Module" } }) as Namespace;
    for (const key of Object.keys(exports))
      Object.defineProperty(namespace, key, { get: () => exports[key], enumerable: true });
    return Object.preventExtensions(namespace);
  }

  return (target: PackageTarget): Namespace => {
    const key = `${target.digest} ${target.path}`;
    let found = known.get(key);
    if (found === undefined) {
      try {
        found = { namespace: evaluate(target) };
      } catch (error) {
        found = { error };
      }
      known.set(key, found);
    }
    if ("error" in found) throw found.error;
    return found.namespace;
  };
}
