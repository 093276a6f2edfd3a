/**
 * The schemas of all tools of a service as one document of definitions, in which definitions that tools share stand
 * once. Runs in the thread that writes declarations.
 */
import { asParameters, KEY_ALIAS, makePlainSchema, type PlainSchema } from "#runner/docs/plain-schema.ts";

export interface ToolSchemas {
  id: string;
  /** JSON text. */
  input: string;
  output: string;
}

/** The names of the types of one tool. */
export interface ToolTypes {
  id: string;
  input: string;
  output: string;
  /** Whether it can be called without parameters. */
  isInputOptional: boolean;
}

export interface JoinedSchemas {
  definitions: Record<string, PlainSchema>;
  tools: ToolTypes[];
  /** Stand-ins for property names that are no identifiers, and what they stand for. */
  aliases: Map<string, string>;
}

/** Names that generated declarations must leave alone. */
const RESERVED_NAMES = [
  "Tools",
  "Service",
  ..."Array Object Promise Record String Number Boolean Function Symbol".split(" "),
];

interface Join {
  definitions: Map<string, PlainSchema>;
  /** Lower case: the type printer changes cases. */
  usedNames: Set<string>;
  aliases: Map<string, string>;
  aliasOf: Map<string, string>;
  /** A definition with all it refers to -> the name it has here. */
  known: Map<string, string>;
}

export function joinSchemas(sources: readonly ToolSchemas[]): JoinedSchemas {
  const join: Join = {
    definitions: new Map(),
    usedNames: new Set(RESERVED_NAMES.map((name) => name.toLowerCase())),
    aliases: new Map(),
    aliasOf: new Map(),
    known: new Map(),
  };
  // Tools first: their types are what a person reads.
  const names = sources.map(({ id }) => ({
    input: takeName(join, `${id}Input`),
    output: takeName(join, `${id}Output`),
  }));
  const tools = sources.map(({ id, input, output }, index): ToolTypes => {
    const { input: inputName, output: outputName } = names[index] as { input: string; output: string };
    const parameters = asParameters(addSchema(join, inputName, JSON.parse(input), "inKey"));
    join.definitions.set(inputName, parameters);
    join.definitions.set(outputName, addSchema(join, outputName, JSON.parse(output), "outKey"));
    return {
      id,
      input: inputName,
      output: outputName,
      isInputOptional: (parameters.required ?? []).length === 0,
    };
  });
  return { definitions: Object.fromEntries(join.definitions), tools, aliases: join.aliases };
}

function addSchema(join: Join, name: string, source: unknown, aliasPrefix: "inKey" | "outKey"): PlainSchema {
  const { schema, keyAliases } = makePlainSchema(source, { usedNames: new Set(RESERVED_NAMES), aliasPrefix });
  let text = JSON.stringify(schema);
  if (keyAliases.size > 0) {
    text = text.replaceAll(KEY_ALIAS, (alias) => {
      const original = keyAliases.get(alias);
      return original === undefined ? alias : takeAlias(join, original);
    });
  }
  const { $defs = {}, ...root } = JSON.parse(text) as PlainSchema;
  const renamed = new Map([["#", name]]);
  const isOwn = new Set<string>();
  const texts = new Map(Object.entries($defs).map(([key, value]) => [key, JSON.stringify(value)]));
  for (const key of texts.keys()) {
    const closure = listReachable(key, texts);
    // A definition that refers to the tool's own root schema cannot be shared with another tool.
    const isSelfish = closure.some((other) => texts.get(other)?.includes('"$ref":"#"'));
    const identity = `${key}\n${isSelfish ? name : ""}\n${closure.map((other) => `${other} ${texts.get(other)}`).join("\n")}`;
    const found = join.known.get(identity);
    const given = found ?? takeName(join, key);
    if (found === undefined) {
      join.known.set(identity, given);
      isOwn.add(key);
    }
    renamed.set(`#/$defs/${key}`, given);
  }
  for (const key of isOwn) {
    join.definitions.set(renamed.get(`#/$defs/${key}`) as string, rename($defs[key] as PlainSchema, renamed));
  }
  return rename(root, renamed);
}

function listReachable(start: string, texts: ReadonlyMap<string, string>): string[] {
  const reached = new Set([start]);
  for (const key of reached) {
    for (const [, target] of (texts.get(key) ?? "").matchAll(/"\$ref":"#\/\$defs\/([A-Za-z0-9]+)"/g)) {
      if (target !== undefined && texts.has(target)) reached.add(target);
    }
  }
  return [...reached].sort();
}

function rename<T>(node: T, names: ReadonlyMap<string, string>): T {
  return JSON.parse(JSON.stringify(node), (key, value) => {
    if (key !== "$ref" || typeof value !== "string") return value;
    return `#/$defs/${names.get(value) ?? value}`;
  });
}

function takeAlias(join: Join, original: string): string {
  const known = join.aliasOf.get(original);
  if (known !== undefined) return known;
  const alias = `inKey${join.aliases.size}_`;
  join.aliases.set(alias, original);
  join.aliasOf.set(original, alias);
  return alias;
}

/** A name the type printer leaves as it is: letters and digits, capital first, a letter after a digit in upper case. */
function takeName(join: Join, hint: string): string {
  const words =
    hint
      .replaceAll(KEY_ALIAS, "")
      .normalize("NFKD")
      .match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  const base =
    joined
      .replace(/^\d+/, "")
      .replaceAll(/\d[a-z]/g, (pair) => pair.toUpperCase())
      .replace(/^[a-z]/, (letter) => letter.toUpperCase())
      .slice(0, 80) || "Value";
  let name = base;
  for (let suffix = 2; join.usedNames.has(name.toLowerCase()); suffix += 1) name = `${base}${suffix}`;
  join.usedNames.add(name.toLowerCase());
  return name;
}
