// biome-ignore-all lint/correctness/useYield: every operation is a generator, even if it reads no contents.
/**
 * `node:fs` and `node:fs/promises` for the run's workspace: the commonly used functions, in their three forms. Errors
 * name the functions that are missing.
 */
import type { FileAccess } from "../../host/file-access.ts";
import { constants, encodingOf, type Options, toBytes } from "./arguments.ts";
import { createHandles, toRange } from "./handles.ts";
import { createOperations } from "./operations.ts";
import { type Operation, runAsync, runSync } from "./steps.ts";
import { createTree, Dirent, type PathLike, Stats } from "./tree.ts";

// biome-ignore lint/suspicious/noExplicitAny: each takes the arguments of Node's function with that name.
type AnyFunction = (...args: any[]) => any;

const ABSENT =
  "watch watchFile unwatchFile symlink link readlink statfs glob openAsBlob opendir lchmod lchown lutimes".split(
    " ",
  );

/** Alternatives to some missing functions. */
const INSTEAD: Record<string, string> = {
  glob: "readdir(folder, { recursive: true }) gives all names below a folder",
  openAsBlob: "new Blob([await cyrnel.files.read(name)]) makes one",
  opendir: "readdir(folder, { withFileTypes: true }) gives what is in it",
};
const NO_KIND =
  "the workspace has files and folders, and nothing that links, watches or measures them. There are readFile, writeFile, readdir, stat, rename and the like";

export function createFs(access: FileAccess) {
  const tree = createTree(access);
  const operations = createOperations(tree);
  const handles = createHandles(tree, operations);
  const { writeAt: _writeAt, touch, open: _open, access: check, ...simple } = operations;

  /** Operations by their names in Node, one generator each. */
  const all: Record<string, (...args: never[]) => Operation<unknown>> = {
    ...simple,
    access: check,
    chmod: touch,
    chown: touch,
    utimes: touch,
    readFile: (path: PathLike | number, options?: Options) =>
      typeof path === "number" ? readDescriptor(path, options) : operations.readFile(path, options),
    writeFile: (path: PathLike | number, data: never, options?: Options) =>
      typeof path === "number"
        ? handles.write(path, data, {}, encodingOf(options) ?? undefined)
        : operations.writeFile(path, data, options),
  };

  function* readDescriptor(fd: number, options?: Options): Operation<string | Uint8Array> {
    const file = handles.find(fd, "read");
    const content = yield* operations.readFile(`/${file.name}`, options);
    file.position = tree.access.find(file.name).size;
    return content;
  }

  /** Operations on a descriptor, with the arguments of the synchronous form. */
  const descriptors: Record<string, (...args: never[]) => Operation<unknown>> = {
    open: handles.open,
    read: (fd: number, target: ArrayBufferView, ...range: unknown[]) =>
      handles.read(fd, target, toRange(range)),
    write: (fd: number, data: unknown, ...rest: unknown[]) =>
      typeof data === "string"
        ? handles.write(
            fd,
            data,
            { position: typeof rest[0] === "number" ? rest[0] : null },
            rest[1] as string,
          )
        : handles.write(fd, data, toRange(rest)),
    *close(fd: number) {
      handles.close(fd);
    },
    *fstat(fd: number) {
      return handles.stat(fd);
    },
    *fsync() {},
    *fdatasync() {},
    *ftruncate(fd: number, length?: number) {
      yield* operations.truncate(`/${handles.find(fd, "ftruncate").name}`, length);
    },
  };

  const promises: Record<string, unknown> = { constants };
  const fs: Record<string, unknown> = {
    constants,
    ...constants,
    Stats,
    Dirent,
    createReadStream: handles.createReadStream,
    createWriteStream: handles.createWriteStream,
    existsSync(path: PathLike): boolean {
      try {
        runSync(access, operations.access(path));
        return true;
      } catch {
        return false;
      }
    },
    exists(path: PathLike, callback: (exists: boolean) => void): void {
      const exists = (fs.existsSync as AnyFunction)(path) as boolean;
      queueMicrotask(() => callback(exists));
    },
  };

  for (const [name, make] of [...Object.entries(all), ...Object.entries(descriptors)]) {
    define(fs, `${name}Sync`, (...args) => runSync(access, make(...(args as never[]))));
    define(fs, name, (...args) => {
      const callback = args.pop();
      if (typeof callback !== "function") {
        throw Object.assign(
          new TypeError(
            `fs.${name} expects a callback as its last argument; fs/promises has functions without one.`,
          ),
          { code: "ERR_INVALID_ARG_TYPE" },
        );
      }
      // Invalid arguments are also reported through the callback.
      const wait = async () => runAsync(access, make(...(args as never[])));
      wait().then(
        (value) => queueMicrotask(() => callback(null, value)),
        (error) => queueMicrotask(() => callback(error)),
      );
    });
  }
  for (const [name, make] of Object.entries(all)) {
    define(promises, name, async (...args) => runAsync(access, make(...(args as never[]))));
  }
  define(
    promises,
    "open",
    async (path, flags) => new handles.FileHandle(await runAsync(access, handles.open(path, flags))),
  );
  const appendFile =
    (form: (fd: number, data: unknown) => unknown, plain: AnyFunction): AnyFunction =>
    (path, data, ...rest) =>
      typeof path === "number" ? form(path, toBytes(data)) : plain(path, data, ...rest);
  define(
    fs,
    "appendFileSync",
    appendFile((fd, data) => runSync(access, handles.write(fd, data)), fs.appendFileSync as AnyFunction),
  );

  for (const name of ABSENT) {
    const refuse = () => {
      throw new Error(`fs.${name} is not available: ${INSTEAD[name] ?? NO_KIND}.`);
    };
    for (const [target, key] of [
      [fs, name],
      [fs, `${name}Sync`],
      [promises, name],
    ] as const)
      define(target, key, refuse);
  }
  const withNative = fs.realpathSync as AnyFunction & { native?: unknown };
  withNative.native = withNative;
  fs.promises = promises;
  return { fs, promises };
}

function define(target: Record<string, unknown>, name: string, value: AnyFunction): void {
  Object.defineProperty(value, "name", { value: name });
  target[name] = value;
}
