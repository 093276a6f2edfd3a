/**
 * Default selection of a tool: breadth first, so that the field limit cuts the deepest ones. The same plan is written
 * as a selection set and as the schema of its response.
 */
import {
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedOutputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isUnionType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import type { JSONSchema } from "#sdk";
import { makeScalar } from "./input-schema.ts";

export interface SelectionLimits {
  maxDepth: number;
  maxFields: number;
}

/** Maximum number of types in a union or interface that get their own fields. */
const MAX_FRAGMENTS = 10;
const MAX_ENUM_VALUES_SHOWN = 100;

/** Fields of one response object: those it always has, and those it has as one of several types. */
interface Plan {
  type: GraphQLNamedOutputType;
  /** Types above this one. A field that returns one of them is not followed. */
  path: readonly string[];
  fields: PlannedField[];
  fragments: { type: GraphQLObjectType; fields: PlannedField[] }[];
  withTypename: boolean;
}

interface PlannedField {
  field: GraphQLField<unknown, unknown>;
  /** Name in the response, or null for the field's own name. */
  alias: string | null;
  plan: Plan | null;
}

export interface Selection {
  node: SelectionSetNode | null;
  schema: JSONSchema;
}

export function selectByDefault(
  schema: GraphQLSchema,
  type: GraphQLOutputType,
  limits: SelectionLimits,
): Selection {
  const named = getNamedType(type);
  if (!isCompositeType(named)) return { node: null, schema: describeType(type, null) };
  const plan = makePlan(schema, named, limits);
  return { node: writeSelection(plan), schema: describeType(type, plan) };
}

function makePlan(schema: GraphQLSchema, root: GraphQLNamedOutputType, limits: SelectionLimits): Plan {
  let fieldsLeft = limits.maxFields;
  const top = newPlan(root, []);
  const waiting = [top];
  for (let plan = waiting.shift(); plan !== undefined && fieldsLeft > 0; plan = waiting.shift()) {
    const depth = plan.path.length + 1;
    const taken = new Map<string, string>();
    const path = [...plan.path, plan.type.name];
    const add = (to: PlannedField[], owner: GraphQLNamedOutputType, inFragment: boolean) => {
      for (const field of fieldsOf(owner)) {
        if (fieldsLeft <= 0) return;
        const named = getNamedType(field.type);
        const isLeaf = !isCompositeType(named);
        if (field.args.some(isRequiredArgument)) continue;
        if (!isLeaf && (depth >= limits.maxDepth || path.includes(named.name) || isPaged(field))) continue;
        if (inFragment && plan.fields.some((planned) => planned.field.name === field.name)) continue;
        // Fields of two types that share a name must have the same shape; otherwise one of them gets an alias.
        const shape = isLeaf ? String(field.type) : `${owner.name}.${field.name}`;
        const clashes = (taken.get(field.name) ?? shape) !== shape;
        const alias = clashes ? `${field.name}_${owner.name}` : null;
        if (alias !== null && taken.has(alias)) continue;
        taken.set(alias ?? field.name, shape);
        const child = isLeaf ? null : newPlan(named as GraphQLNamedOutputType, path);
        to.push({ field, alias, plan: child });
        fieldsLeft -= 1;
        if (child !== null) waiting.push(child);
      }
    };
    add(plan.fields, plan.type, false);
    for (const type of listFragmentTypes(schema, plan.type)) {
      const fragment = { type, fields: [] as PlannedField[] };
      add(fragment.fields, type, true);
      plan.fragments.push(fragment);
    }
  }
  prune(top);
  return top;
}

function newPlan(type: GraphQLNamedOutputType, path: readonly string[]): Plan {
  return { type, path, fields: [], fragments: [], withTypename: isAbstractType(type) };
}

/** Leaf fields come first: they contain the values that callers want. */
function fieldsOf(type: GraphQLNamedOutputType): GraphQLField<unknown, unknown>[] {
  if (!isCompositeType(type) || isUnionType(type)) return [];
  const fields = Object.values(type.getFields());
  const isLeaf = (field: GraphQLField<unknown, unknown>) => !isCompositeType(getNamedType(field.type));
  return [...fields.filter(isLeaf), ...fields.filter((field) => !isLeaf(field))];
}

/**
 * Returns whether the field is a paged list: servers require a page size there, although the schema does not say so.
 */
function isPaged(field: GraphQLField<unknown, unknown>): boolean {
  const names = new Set(field.args.map((arg) => arg.name));
  return names.has("first") && names.has("last");
}

/** An interface with many types is represented by its own fields; a union has none. */
function listFragmentTypes(
  schema: GraphQLSchema,
  type: GraphQLNamedOutputType,
): readonly GraphQLObjectType[] {
  if (!isAbstractType(type)) return [];
  const types = schema.getPossibleTypes(type);
  if (types.length > MAX_FRAGMENTS && !isUnionType(type)) return [];
  return types.slice(0, MAX_FRAGMENTS);
}

/** Removes objects that the field limit left empty; an empty root gets `__typename`. */
function prune(plan: Plan): boolean {
  const keep = ({ plan: child }: PlannedField) => child === null || prune(child);
  plan.fields = plan.fields.filter(keep);
  for (const fragment of plan.fragments) fragment.fields = fragment.fields.filter(keep);
  plan.fragments = plan.fragments.filter((fragment) => fragment.fields.length > 0);
  if (plan.fields.length + plan.fragments.length > 0) return true;
  if (plan.path.length > 0) return false;
  plan.withTypename = true;
  return true;
}

function writeSelection(plan: Plan): SelectionSetNode {
  const selections: SelectionNode[] = plan.withTypename ? [name("__typename")] : [];
  selections.push(...plan.fields.map(writeField));
  for (const { type, fields } of plan.fragments) {
    selections.push({
      kind: Kind.INLINE_FRAGMENT,
      typeCondition: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: type.name } },
      selectionSet: { kind: Kind.SELECTION_SET, selections: fields.map(writeField) },
    });
  }
  return { kind: Kind.SELECTION_SET, selections };
}

function writeField({ field, alias, plan }: PlannedField): FieldNode {
  return {
    ...name(field.name),
    ...(alias === null ? {} : { alias: { kind: Kind.NAME, value: alias } }),
    ...(plan === null ? {} : { selectionSet: writeSelection(plan) }),
  };
}

function name(value: string): FieldNode {
  return { kind: Kind.FIELD, name: { kind: Kind.NAME, value } };
}

function describeType(type: GraphQLOutputType, plan: Plan | null): JSONSchema {
  if (isNonNullType(type)) return describePresent(type.ofType, plan);
  const present = describePresent(type, plan);
  if (Object.keys(present).every((key) => key === "description")) return present;
  return { anyOf: [present, { type: "null" }] };
}

function describePresent(type: GraphQLOutputType, plan: Plan | null): JSONSchema {
  if (isListType(type)) return { type: "array", items: describeType(type.ofType, plan) };
  if (plan !== null) return describePlan(plan);
  if (isEnumType(type)) {
    const values = type.getValues().map((value) => value.name);
    return values.length > MAX_ENUM_VALUES_SHOWN ? { type: "string" } : { type: "string", enum: values };
  }
  const scalar = makeScalar(type as Parameters<typeof makeScalar>[0]);
  // Output fields of this type return strings, even if the input accepts other values.
  return Array.isArray(scalar.type) ? { type: "string" } : scalar;
}

function describePlan(plan: Plan): JSONSchema {
  const always: [string, JSONSchema][] = plan.withTypename ? [["__typename", { type: "string" }]] : [];
  always.push(...plan.fields.map(describeField));
  const sometimes = plan.fragments.flatMap(({ fields }) => fields.map(describeField));
  return {
    type: "object",
    properties: Object.fromEntries([...sometimes, ...always]),
    required: always.map(([key]) => key),
    ...(isObjectType(plan.type) ? {} : { description: `${plan.type.name}: \`__typename\` says which.` }),
  };
}

function describeField({ field, alias, plan }: PlannedField): [string, JSONSchema] {
  return [alias ?? field.name, describeType(field.type, plan)];
}
