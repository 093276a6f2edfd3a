/** Reading data of unknown shape: own properties only, nothing inherited. */
import { isRawInteger } from "#sdk";

export type Fields = Record<string, unknown>;

export function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawInteger(value);
}

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
