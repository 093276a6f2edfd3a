// What order-report.ts uses of node:fs, on files of the workspace.
export function mkdirSync(name: string, options?: { recursive?: boolean }): string | undefined;
export function readFileSync(name: string, encoding: "utf8"): string;
export function rmSync(name: string): void;
export function writeFileSync(name: string, data: string | Uint8Array): void;
