/**
 * Stands in for built-ins a script does not have where a library names them; put into the bundle by build/runner.ts.
 * No value is ever an instance of it.
 */
export class SharedArrayBuffer {
  get byteLength(): number {
    throw new TypeError("Not a SharedArrayBuffer.");
  }

  get growable(): boolean {
    throw new TypeError("Not a SharedArrayBuffer.");
  }
}
