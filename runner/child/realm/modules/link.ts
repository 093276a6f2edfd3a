/**
 * Links the source files of a script, as runner/source/modules/link.ts writes them: each has its exports before the first one
 * runs, so that cycles work as with modules of ECMAScript; they run one after another, imports first.
 */

type Namespace = Record<string, unknown>;
type Getters = Record<string, () => unknown>;
/** The body of a file: it tells its exports at once, and goes on when it is its turn. */
type Body = (exports: (getters: Getters) => void, turn: Promise<void>) => Promise<unknown>;

/** One file; `targets` are indices of files and names of built-in modules. */
interface File {
  json?: string;
  text?: string;
  targets: (number | string | null)[];
  /** How many of the targets are imported before the file runs. */
  statics: number;
  /** `$` and the specifier of a call of `import()`, and its target's index. */
  calls: Record<string, number>;
  /** Names of built-in modules that are used, by the target's index. */
  names: Record<string, string[]>;
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
  /** The same by names with `$` before them. */
  facade: Namespace;
  own: Set<string>;
  start: () => void;
  finished: Promise<unknown>;
  isInstantiated: boolean;
  hasStarted: boolean;
}

/** Runs the first of `files`, which is the script; resolves with its result. */
export function link(
  files: readonly File[],
  builtin: (name: string) => Namespace,
  importError: (specifier: unknown) => Error,
): Promise<unknown> {
  const all = files.map(create);
  const facades = new Map<string, Namespace>();

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

  function facadeOf(name: string): Namespace {
    let facade = facades.get(name);
    if (facade === undefined) {
      facade = Object.create(null) as Namespace;
      const namespace = builtin(name);
      for (const key of Object.keys(namespace)) {
        Object.defineProperty(facade, `$${key}`, { get: () => namespace[key] });
      }
      facades.set(name, facade);
    }
    return facade;
  }

  /** Calls the code of a file and of all that it imports, up to where each waits for its turn. */
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
        else if (typeof target === "string") checkNames(target, file.names[index]);
      }
      order.push(linked);
      const turn = Promise.withResolvers<void>();
      linked.start = turn.resolve;
      file.run(
        (index) => memberOf(file.targets[index], "facade"),
        (index) => memberOf(file.targets[index], "namespace"),
        (body) => {
          linked.finished = body((getters) => exposeAll(linked, getters), turn.promise);
          // Told to who waits for it; a file after one that failed is never waited for.
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

  function memberOf(target: number | string | null | undefined, member: "facade" | "namespace"): Namespace {
    if (typeof target === "number") return (all[target] as Linked)[member];
    return member === "facade" ? facadeOf(String(target)) : builtin(String(target));
  }

  function checkNames(name: string, used: readonly string[] = []): void {
    const namespace = builtin(name);
    const missing = used.find((key) => !Object.hasOwn(namespace, key));
    if (missing !== undefined)
      throw new SyntaxError(`The module node:${name} has no export named "${missing}" here.`);
  }

  function exposeAll(linked: Linked, getters: Getters): void {
    for (const name of Object.keys(getters)) expose(linked, name, { get: getters[name] as () => unknown });
  }

  /** Adds to `linked` what `from` passes on without naming it, if it has no such name. */
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
    // It may have been started by another import.
    await first.finished;
    return first.namespace;
  }

  async function importCall(file: File, specifier: unknown): Promise<Namespace> {
    const key = `$${specifier}`;
    const target = Object.hasOwn(file.calls, key) ? file.targets[file.calls[key] as number] : null;
    if (target === null || target === undefined) throw importError(specifier);
    if (typeof target === "string") return builtin(target);
    return evaluate(all[target] as Linked);
  }

  const [entry] = all as [Linked];
  return evaluate(entry).then(() => entry.finished);
}
