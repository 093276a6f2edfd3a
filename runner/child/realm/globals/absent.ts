/**
 * Replaces built-ins that scripts do not have, for libraries that refer to them (see build/runner.ts). No value is
 * ever an instance.
 */
export class SharedArrayBuffer {
  get byteLength(): number {
    throw new TypeError("Not a SharedArrayBuffer.");
  }

  get growable(): boolean {
    throw new TypeError("Not a SharedArrayBuffer.");
  }
}
