/** Reading data of unknown shape: own properties only, nothing inherited. */
import { isJsonObject } from "#sdk";

export type Fields = Record<string, unknown>;

export const isRecord: (value: unknown) => value is Fields = isJsonObject;

/** An own property, or undefined. */
export function own(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export function ownRecord(value: unknown, key: string): Fields | undefined {
  const found = own(value, key);
  return isRecord(found) ? found : undefined;
}

export function ownText(value: unknown, key: string): string | undefined {
  const found = own(value, key);
  return typeof found === "string" ? found : undefined;
}

export function ownList(value: unknown, key: string): unknown[] {
  const found = own(value, key);
  return Array.isArray(found) ? found : [];
}

/** `{key: value}` without the members that are undefined. */
export function defined<T extends Fields>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
