/**
 * Joins the schemas of all tools of a service into one document, in which shared definitions appear once. Runs in the
 * thread that writes declarations.
 */
import {
  asParameters,
  makePlainFailures,
  makePlainSchema,
  type PlainSchema,
} from "#kernel/tool-docs/plain-schema.ts";

export interface ToolSchemas {
  id: string;
  input: string;
  output: string;
}

export interface ToolTypes {
  id: string;
  input: string;
  output: string;
  /** Null if no errors are declared. */
  failure: string | null;
  isInputOptional: boolean;
}

export interface JoinedSchemas {
  definitions: Record<string, PlainSchema>;
  tools: ToolTypes[];
}

const RESERVED_NAMES = [
  "Tools",
  "Service",
  ..."Array Object Promise Record String Number Boolean Function Symbol".split(" "),
];

interface Join {
  definitions: Map<string, PlainSchema>;
  /** Names in lower case, because names that differ only in case are easily confused. */
  usedNames: Set<string>;
  /** Definition with everything it refers to -> its name in this document. */
  known: Map<string, string>;
}

export function joinSchemas(sources: readonly ToolSchemas[]): JoinedSchemas {
  const join: Join = {
    definitions: new Map(),
    usedNames: new Set(RESERVED_NAMES.map((name) => name.toLowerCase())),
    known: new Map(),
  };
  // Tools first, because people read their types.
  const names = sources.map(({ id }) => ({
    input: takeName(join, `${id}Input`),
    output: takeName(join, `${id}Output`),
  }));
  const tools = sources.map(({ id, input, output }, index): ToolTypes => {
    const { input: inputName, output: outputName } = names[index] as { input: string; output: string };
    const plain = makePlainSchema(JSON.parse(input), new Set(RESERVED_NAMES));
    const parameters = asParameters(addSchema(join, inputName, plain));
    join.definitions.set(inputName, parameters);
    const outputSchema = JSON.parse(output);
    join.definitions.set(
      outputName,
      addSchema(join, outputName, makePlainSchema(outputSchema, new Set(RESERVED_NAMES))),
    );
    return {
      id,
      input: inputName,
      output: outputName,
      failure: addFailure(join, id, outputSchema),
      isInputOptional: (parameters.required ?? []).length === 0,
    };
  });
  return { definitions: Object.fromEntries(join.definitions), tools };
}

/** Tools with the same failures share a type. */
function addFailure(join: Join, id: string, outputSchema: unknown): string | null {
  const failure = makePlainFailures(outputSchema, new Set(RESERVED_NAMES));
  if (failure === null) return null;
  const identity = JSON.stringify(failure);
  const known = join.known.get(identity);
  if (known !== undefined) return known;
  const name = takeName(join, `${id}Error`);
  join.known.set(identity, name);
  join.definitions.set(name, addSchema(join, name, failure));
  return name;
}

function addSchema(join: Join, name: string, { $defs = {}, ...root }: PlainSchema): PlainSchema {
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

/** Returns an unused alphanumeric name that starts with a capital. */
function takeName(join: Join, hint: string): string {
  const words = hint.normalize("NFKD").match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  const base =
    joined
      .replace(/^\d+/, "")
      .replace(/^[a-z]/, (letter) => letter.toUpperCase())
      .slice(0, 80) || "Value";
  let name = base;
  for (let suffix = 2; join.usedNames.has(name.toLowerCase()); suffix += 1) name = `${base}${suffix}`;
  join.usedNames.add(name.toLowerCase());
  return name;
}
