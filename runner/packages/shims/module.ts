/** `module` for packages: a `require` that knows no file. */
import { notInstalled } from "./absent.ts";

export const builtinModules: string[] = [];
export const isBuiltin = () => false;
export function createRequire() {
  return (name: unknown): never => {
    throw notInstalled(String(name));
  };
}
