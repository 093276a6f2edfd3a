/**
 * Error of a failed call. Created with the call, so that its stack shows the script's line, and completed when the
 * call fails.
 */
import { defineHidden, ObjectDefineProperty, ObjectHasOwn, ObjectKeys, own } from "../primordials.ts";

export interface ErrorFields {
  name?: unknown;
  message: unknown;
  code?: unknown;
  status?: unknown;
  data?: unknown;
}

export function readError(error: object): ErrorFields {
  const data = own(error, "data");
  const source = typeof data === "object" && data !== null ? data : error;
  return {
    name: own(source, "name"),
    message: own(source, "message"),
    code: own(source, "code"),
    status: own(source, "status"),
    data: own(source, "data"),
  };
}

export function completeError(error: Error, fields: ErrorFields): Error {
  if (typeof fields.name === "string" && fields.name !== "Error") defineHidden(error, "name", fields.name);
  defineHidden(error, "message", typeof fields.message === "string" ? fields.message : "The call failed.");
  if (typeof fields.code === "string") (error as { code?: string }).code = fields.code;
  if (typeof fields.status === "number") (error as { status?: number }).status = fields.status;
  if (typeof fields.data === "object" && fields.data !== null) addMembers(error, fields.data);
  return error;
}

/** Adds members, except those that the error already has, such as its message and stack. */
function addMembers(error: Error, data: object): void {
  const keys = ObjectKeys(data);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    if (ObjectHasOwn(error, key)) continue;
    ObjectDefineProperty(error, key, {
      __proto__: null,
      value: own(data, key),
      writable: true,
      configurable: true,
      enumerable: true,
    } as PropertyDescriptor);
  }
}
