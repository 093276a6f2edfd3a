/** What children are started on: the binary, an empty directory and the wall. Loads no library: it may be opened ahead of the rest. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openWall, type Wall, type WallParts } from "#runner/isolation/wall.ts";
import { findNodeBinary, type NodeBinary } from "#runner/node-binary.ts";
import type { StartProcess } from "#runner/start-process.ts";
import { openEmptyFolder } from "#runner/temporary.ts";
import type { IsolationLevel } from "#sdk";

/** What a child is made of. */
const BUILT = ["child.js", "realm.bin"];

export interface GroundOptions {
  level: IsolationLevel;
  /** Holds the build of the child. */
  folder: string;
  paranoid: boolean;
  isExposed?: boolean;
  /** See WallOptions. */
  test: "apart" | "in each child";
}

export interface Ground extends AsyncDisposable {
  readonly node: NodeBinary;
  readonly wall: Wall;
  readonly cwd: string;
  readonly start: StartProcess;
  /** What a child closes because `start` lets it be inherited; absent: to be found. */
  readonly closeFds?: number[];
}

/** Disposing ends every child and removes the directory. `parts`: of the wall, where they were begun ahead. Throws JailUnavailableError, or an Error where the build is missing. */
export async function openGround({ folder, ...options }: GroundOptions, parts?: WallParts): Promise<Ground> {
  const missing = BUILT.find((file) => !existsSync(join(folder, file)));
  if (missing !== undefined) throw new Error(`${join(folder, missing)} is missing: run \`npm run build\`.`);
  await using undo = new AsyncDisposableStack();
  const node = findNodeBinary();
  const { path: cwd } = undo.use(await openEmptyFolder("run"));
  const wall = undo.use(await openWall({ ...options, nodePath: node.path, readable: [folder], cwd }, parts));
  const owned = undo.move();
  return { node, wall, cwd, start: wall.start, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
