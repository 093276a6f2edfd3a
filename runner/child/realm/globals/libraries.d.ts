/** Types for libraries that ship none. */
declare module "whatwg-url" {
  export const URL: typeof globalThis.URL;
  export const URLSearchParams: typeof globalThis.URLSearchParams;
}

declare module "@ungap/structured-clone" {
  type Serialized = readonly unknown[];
  export function serialize(value: unknown): Serialized;
  export function deserialize(serialized: Serialized): unknown;
}
