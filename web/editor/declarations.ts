/**
 * Reads the declarations that the server generates (`/tools/types.d.ts`) into completions: an object's members, their
 * types, and a call's parameters. Handles only that document's syntax and skips anything else.
 */
import type { SyntaxNode, Tree } from "@lezer/common";
import { parser } from "@lezer/javascript";

export interface Member {
  name: string;
  detail: string;
  doc: string;
  /** Also true for a class. */
  isFunction: boolean;
  isOptional: boolean;
  /** Node that has the members: the type, or a class body. Null for a function. */
  type: SyntaxNode | null;
  parameters: readonly SyntaxNode[];
  /** The member's namespace: type names are looked up there first. */
  scope: string;
}

export interface Declarations {
  globals: ReadonlyMap<string, Member>;
  membersOf(member: Member): readonly Member[];
  /** Returns members of the type of the parameter at this 0-based position. */
  membersOfParameter(member: Member, index: number): readonly Member[];
}

const MAX_DETAIL_CHARACTERS = 120;
const MAX_DEPTH = 24;
const typescript = parser.configure({ dialect: "ts" });

export function readDeclarations(text: string): Declarations {
  const tree: Tree = typescript.parse(text);
  const types = new Map<string, SyntaxNode>();
  const globals = new Map<string, Member>();
  const slice = (node: SyntaxNode) => text.slice(node.from, node.to);

  /** `doc` is the comment before the node. */
  function visit(node: SyntaxNode, scope: string, doc = ""): void {
    let before = doc;
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      switch (child.name) {
        case "InterfaceDeclaration": {
          const name = child.getChild("TypeDefinition");
          const body = child.getChild("ObjectType");
          if (name && body) types.set(scope + slice(name), body);
          break;
        }
        case "TypeAliasDeclaration": {
          const name = child.getChild("TypeDefinition");
          if (name && child.lastChild) {
            const last = child.lastChild.name === ";" ? child.lastChild.prevSibling : child.lastChild;
            if (last) types.set(scope + slice(name), last);
          }
          break;
        }
        case "NamespaceDeclaration": {
          const name = child.getChild("VariableDefinition") ?? child.getChild("VariableName");
          const body = child.getChild("Block") ?? child.lastChild;
          if (name && body) visit(body, `${slice(name)}.`);
          break;
        }
        case "AmbientDeclaration":
        case "ExportDeclaration":
          visit(child, scope, before);
          break;
        case "VariableDeclaration":
        case "AmbientFunctionDeclaration":
        case "ClassDeclaration":
          readGlobal(child, before, scope);
          break;
      }
      if (child.name !== "declare") before = child.name === "BlockComment" ? readComment(slice(child)) : "";
    }
  }

  function readGlobal(node: SyntaxNode, doc: string, scope: string): void {
    const name = node.getChild("VariableDefinition");
    if (!name) return;
    const label = slice(name);
    const body = node.getChild("ClassBody");
    const maker = body
      ?.getChildren("MethodDeclaration")
      .find((child) => slice(child).startsWith("constructor"));
    const member = maker ? readMember(maker, "constructor", doc, scope) : readMember(node, label, doc, scope);
    globals.set(label, {
      ...member,
      name: label,
      detail: member.isFunction ? member.detail : "",
      isFunction: node.name !== "VariableDeclaration",
      type: body ?? member.type,
    });
  }

  function resolve(node: SyntaxNode | null, scope: string, depth = 0): { body: SyntaxNode; scope: string }[] {
    if (node === null || depth > MAX_DEPTH) return [];
    switch (node.name) {
      case "ObjectType":
      case "ClassBody":
        return [{ body: node, scope }];
      case "ParenthesizedType":
      case "IntersectionType":
      case "UnionType":
        return childrenOf(node).flatMap((child) => resolve(child, scope, depth + 1));
      case "ParameterizedType": {
        // CyrnelInvocable<…> adds `invoke` to each tool; completing the tool itself is close enough.
        const inner = node.getChild("TypeArgList") ?? node.lastChild;
        return inner === null ? [] : childrenOf(inner).flatMap((child) => resolve(child, scope, depth + 1));
      }
      case "TypeName":
      case "IndexedType": {
        const name = slice(node);
        const found = types.get(scope + name) ?? types.get(name);
        const at = name.includes(".") ? name.slice(0, name.lastIndexOf(".") + 1) : scope;
        return found === undefined ? [] : resolve(found, at, depth + 1);
      }
    }
    return [];
  }

  function membersIn(type: SyntaxNode | null, scope: string): readonly Member[] {
    return resolve(type, scope).flatMap((found) => readMembers(found.body, found.scope));
  }

  function readMembers(body: SyntaxNode, scope: string): Member[] {
    const members: Member[] = [];
    let doc = "";
    for (let child = body.firstChild; child !== null; child = child.nextSibling) {
      if (child.name === "BlockComment") doc = readComment(slice(child));
      // Reads only the static members of a class, because it is unknown which variables contain instances.
      if (!/^(Property|Method)Type$/.test(child.name) && child.getChild("static") === null) continue;
      const name = child.getChild("PropertyDefinition");
      if (name) members.push(readMember(child, slice(name), doc, scope));
      doc = "";
    }
    return members;
  }

  function readMember(node: SyntaxNode, written: string, doc: string, scope: string): Member {
    const list = node.getChild("ParamList");
    const rest = slice(node)
      .slice(slice(node).indexOf(written) + written.length)
      .replace(/\s+/g, " ")
      .replace(/[;,]$/, "");
    return {
      name: written.replace(/^["']|["']$/g, ""),
      detail: rest.length > MAX_DETAIL_CHARACTERS ? `${rest.slice(0, MAX_DETAIL_CHARACTERS)}…` : rest,
      doc,
      isFunction: list !== null,
      isOptional: rest.startsWith("?"),
      type: list === null ? (node.getChild("TypeAnnotation")?.lastChild ?? null) : null,
      parameters: (list?.getChildren("TypeAnnotation") ?? []).flatMap(({ lastChild }) => lastChild ?? []),
      scope,
    };
  }

  visit(tree.topNode, "");
  return {
    globals,
    membersOf: ({ type, scope }) => membersIn(type, scope),
    membersOfParameter: ({ parameters, scope }, index) => membersIn(parameters[index] ?? null, scope),
  };
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

function readComment(text: string): string {
  return text
    .replace(/^\/\*+|\*+\/$/g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim();
}

/** The server's declaration of an input whose type it does not know. */
const ANY_INPUT = "type CyrnelInput = any;";
const MAX_INPUT_DEPTH = 8;
const MAX_INPUT_MEMBERS = 100;

/**
 * Returns declarations in which `cyrnel.input` has the type of the schema or, without one, of the example. Without
 * either, returns the text unchanged.
 */
export function declareInput(text: string, schema: JsonObject | null, example: unknown): string {
  if (schema === null && example === undefined) return text;
  const type = schema === null ? typeOfValue(example, 0) : typeOfSchema(schema, schema, 0);
  return text.replace(ANY_INPUT, () => `type CyrnelInput = ${type};`);
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Unsupported types become `any`. */
function typeOfSchema(schema: unknown, root: JsonObject, depth: number): string {
  if (!isObject(schema) || depth > MAX_INPUT_DEPTH) return "any";
  const { $ref, properties, required, items, type } = schema;
  const options = [schema.enum, schema.anyOf, schema.oneOf].find(Array.isArray);
  if (typeof $ref === "string") return typeOfSchema(follow($ref, root), root, depth + 1);
  if (isObject(properties)) {
    const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
    const members = Object.entries(properties).map(([name, member]): Printed => {
      const { description } = isObject(member) ? member : {};
      return [name, isRequired(name), typeOfSchema(member, root, depth + 1), description];
    });
    return printMembers(members);
  }
  if (options !== undefined) {
    const isEnum = options === schema.enum;
    const types = options
      .slice(0, MAX_INPUT_MEMBERS)
      .map((one) => (isEnum ? JSON.stringify(one) : typeOfSchema(one, root, depth + 1)));
    return [...new Set(types)].join(" | ");
  }
  if (type === "array" || items !== undefined) return `(${typeOfSchema(items, root, depth + 1)})[]`;
  return [type].flat().map(nameType).join(" | ");
}

function nameType(type: unknown): string {
  if (type === "integer") return "number";
  return ["string", "number", "boolean", "null"].includes(type as string) ? (type as string) : "any";
}

function follow(reference: string, root: JsonObject): unknown {
  const names = reference.split("/").slice(1);
  return names.reduce<unknown>(
    (at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined),
    root,
  );
}

function typeOfValue(value: unknown, depth: number): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  if (depth > MAX_INPUT_DEPTH) return "any";
  if (Array.isArray(value)) return value.length === 0 ? "any[]" : `(${typeOfValue(value[0], depth + 1)})[]`;
  return printMembers(
    Object.entries(value).map(([name, member]) => [name, true, typeOfValue(member, depth + 1), undefined]),
  );
}

type Printed = [name: string, isRequired: boolean, type: string, description: unknown];

function printMembers(members: Printed[]): string {
  const lines = members.slice(0, MAX_INPUT_MEMBERS).map(([name, isRequired, type, description]) => {
    const doc = typeof description === "string" ? `/** ${description.replaceAll("*/", "* /")} */ ` : "";
    const written = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return `${doc}${written}${isRequired ? "" : "?"}: ${type};`;
  });
  return `{ ${lines.join(" ")} }`;
}
