import { type Fields, isRecord, own, ownList, ownRecord, ownText } from "#kernel/foreign-json.ts";
import type { JSONSchema } from "#sdk";
import { addNote, isSchema } from "./keywords.ts";
import type { References } from "./references.ts";

interface Use {
  use: "request" | "form" | "response";
  references: References;
}

/** Each branch requires the value that selects it: the one in `mapping`, or else its schema's name. */
export function convertDiscriminator(source: Fields, target: JSONSchema, { use, references }: Use): void {
  const discriminator = ownRecord(source, "discriminator");
  const property = ownText(discriminator, "propertyName");
  if (property === undefined) return;
  addNote(target, `The property ${JSON.stringify(property)} says which of the schemas applies.`);
  const mapping = Object.entries(ownRecord(discriminator, "mapping") ?? {});
  for (const key of ["oneOf", "anyOf"] as const) {
    const converted = target[key] as (JSONSchema | boolean)[] | undefined;
    if (converted === undefined) continue;
    const branches = ownList(source, key).filter(isSchema);
    target[key] = converted.map((branch, index) => {
      const reference = ownText(branches[index], "$ref");
      if (reference === undefined || !isRecord(branch)) return branch;
      const name = lastSegment(reference);
      const values = mapping.filter(([, to]) => to === reference || to === name).map(([value]) => value);
      if (values.length === 0 && use !== "response") values.push(name);
      if (values.length === 0 || isSelective(references.follow(branches[index]), property, references)) {
        return branch;
      }
      return { allOf: [branch], properties: { [property]: { enum: values } }, required: [property] };
    });
  }
}

function isSelective(branch: Fields | undefined, property: string, references: References): boolean {
  const declared = references.follow(own(ownRecord(branch, "properties"), property));
  return declared !== undefined && (Object.hasOwn(declared, "enum") || Object.hasOwn(declared, "const"));
}

export function lastSegment(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
