/** Turns the changes made in a form into a JSON Patch for the server. Pure. */

export type PatchOperation = { op: "add"; path: string; value: unknown } | { op: "remove"; path: string };

type Values = Record<string, unknown>;

export function toPointer(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Removes emptied members; sets changed ones completely. */
export function patchSettings(before: Values, after: Values): PatchOperation[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name): PatchOperation[] => {
    const path = toPointer([name]);
    const isThere = Object.hasOwn(after, name) && after[name] !== undefined;
    if (!isThere) return Object.hasOwn(before, name) ? [{ op: "remove", path }] : [];
    if (JSON.stringify(before[name]) === JSON.stringify(after[name])) return [];
    return [{ op: "add", path, value: after[name] }];
  });
}

/**
 * Sets what was filled in and leaves the rest unchanged. `present` lists the pointers of existing secrets. Their
 * values are unknown here, so an object that is partly set is changed member by member.
 */
export function patchSecrets(filled: Values, present: readonly string[]): PatchOperation[] {
  return set(filled, [], present);
}

function set(values: Values, names: readonly string[], present: readonly string[]): PatchOperation[] {
  return Object.entries(values).flatMap(([name, value]): PatchOperation[] => {
    if (value === undefined || value === "" || value === null) return [];
    const path = toPointer([...names, name]);
    const isPartlySet = present.some((pointer) => pointer.startsWith(`${path}/`));
    const isGroup = typeof value === "object" && !Array.isArray(value);
    if (isGroup && isPartlySet) return set(value as Values, [...names, name], present);
    const kept = isGroup ? withoutEmpty(value as Values) : value;
    if (isGroup && Object.keys(kept as Values).length === 0) return [];
    return [{ op: "add", path, value: kept }];
  });
}

function withoutEmpty(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined && value !== "" && value !== null)
      .map(([name, value]) => [
        name,
        typeof value === "object" && !Array.isArray(value) ? withoutEmpty(value as Values) : value,
      ]),
  );
}

/** Returns the schema with nothing required: secrets that are already set need not be filled in again. */
export function withoutRequired(schema: Values): Values {
  const { required: _required, properties, ...rest } = schema;
  if (typeof properties !== "object" || properties === null) return rest;
  return {
    ...rest,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, member]) => [
        name,
        typeof member === "object" && member !== null ? withoutRequired(member as Values) : member,
      ]),
    ),
  };
}
