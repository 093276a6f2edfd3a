import { checkFileName } from "#kernel/file-names.ts";

export function requireFileName(name: string): void {
  const wrong = checkFileName(name);
  if (wrong !== null) throw fileError("invalid_file_name", `The file name ${quote(name)} ${wrong}.`);
}

export function fileError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

export function quote(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}
