/** `module` for packages: its `require` loads no files. */
import { notInstalled } from "./absent.ts";

export const builtinModules: string[] = [];
export const isBuiltin = () => false;
export function createRequire() {
  return (name: unknown): never => {
    throw notInstalled(String(name));
  };
}
