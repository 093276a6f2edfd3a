/** Members of `process` that libraries use, bundled by build/runner.ts. Scripts have no such global. */
const soon = globalThis.queueMicrotask;

export const env = {};
export const browser = true;
export const version = "";
export const versions = {};
export const argv: string[] = [];
export function nextTick(callback: (...args: unknown[]) => void, ...args: unknown[]): void {
  soon(() => callback(...args));
}
export function cwd(): string {
  return "/";
}
export function emitWarning(): void {}
export function on(): void {}
