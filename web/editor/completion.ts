/** Completes what the server declares: `tools.…`, `cyrnel.…`, call parameters, imports. */
import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  snippet,
} from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { SyntaxNode } from "@lezer/common";
import type { Declarations, Member } from "./declarations.ts";
import type { PackageTypes } from "./packages.ts";

const NAME = "[A-Za-z_$][\\w$]*";
const CHAIN = new RegExp(`(${NAME}(?:\\s*\\??\\.\\s*${NAME})*)\\s*\\.\\s*[\\w$]*$`);
const WORD = /[\w$]*$/;
/** Maximum distance before the cursor at which a chain of names may begin. */
const MAX_CHAIN_CHARACTERS = 500;
const VALID = /^[\w$]*$/;

/** `read` may resolve later: declarations may still be loading when the user starts typing. */
export function completeDeclared(
  read: () => Promise<Declarations>,
  loadPackages: () => Promise<PackageTypes>,
): (context: CompletionContext) => Promise<CompletionResult | null> {
  return async (context) => {
    if (/\bimport\b/.test(context.state.sliceDoc())) {
      const { completeImports } = await import("./import-completion.ts");
      const imports = await completeImports(context, loadPackages);
      if (imports !== null) return imports;
    }
    if (isText(context)) return null;
    const declarations = await read();
    const word = context.matchBefore(WORD);
    const from = word?.from ?? context.pos;
    const chain = CHAIN.exec(
      context.state.sliceDoc(Math.max(0, context.pos - MAX_CHAIN_CHARACTERS), context.pos),
    );
    if (chain !== null) {
      const path = chain[1]?.split(".").map((name) => name.replace(/[\s?]/g, "")) ?? [];
      return answer(from, membersAt(declarations, path), "member");
    }
    const parameters = parametersAt(context, declarations);
    if (parameters !== null) return answer(from, parameters, "key");
    if (word === null || (word.from === word.to && !context.explicit)) return null;
    return {
      from,
      validFor: VALID,
      options: [...declarations.globals.values()].map((member) => describe(member, "global")),
    };
  };
}

type Kind = "global" | "member" | "key";

function answer(from: number, members: readonly Member[], kind: Kind): CompletionResult | null {
  if (members.length === 0) return null;
  return { from, validFor: VALID, options: members.map((member) => describe(member, kind)) };
}

function describe(member: Member, kind: Kind): Completion {
  const { name, detail, doc, isFunction, isOptional } = member;
  const takesObject = isFunction && !/^\(\s*\)/.test(detail) && /^\(parameters/.test(detail);
  return {
    label: name,
    type: isFunction ? "function" : kind === "global" ? "variable" : "property",
    detail,
    ...(doc !== "" && { info: () => Object.assign(document.createElement("div"), { textContent: doc }) }),
    // Required parameters come first.
    ...(kind === "key" && { apply: snippet(`${quote(name)}: #{}`), boost: isOptional ? 0 : 5 }),
    ...(kind === "global" && !isFunction && { boost: 2 }),
    ...(kind === "member" && takesObject && { apply: snippet(`${name}({ #{} })`) }),
  };
}

function quote(name: string): string {
  return VALID.test(name) && !/^\d/.test(name) ? name : JSON.stringify(name);
}

function isText(context: CompletionContext): boolean {
  const { name } = syntaxTree(context.state).resolveInner(context.pos, -1);
  return name === "String" || name === "TemplateString" || name === "LineComment" || name === "BlockComment";
}

function membersAt(declarations: Declarations, [first = "", ...rest]: string[]): readonly Member[] {
  let member = declarations.globals.get(first);
  for (const name of rest) {
    if (member === undefined) return [];
    member = declarations.membersOf(member).find((candidate) => candidate.name === name);
  }
  return member === undefined ? [] : declarations.membersOf(member);
}

/** Returns null unless the cursor is at a property name in the argument of a declared call. */
function parametersAt(context: CompletionContext, declarations: Declarations): readonly Member[] | null {
  const names: string[] = [];
  let node: SyntaxNode | null = syntaxTree(context.state).resolveInner(context.pos, -1);
  if (node.name === "PropertyDefinition" || node.name === "⚠") node = node.parent;
  if (node?.name === "Property") node = node.parent;
  if (node?.name !== "ObjectExpression") return null;
  for (;;) {
    const outer: SyntaxNode | null = node.parent;
    if (outer?.name === "Property" && outer.parent?.name === "ObjectExpression") {
      const name = outer.firstChild;
      if (name === null) return null;
      names.unshift(context.state.sliceDoc(name.from, name.to).replace(/^["']|["']$/g, ""));
      node = outer.parent;
    } else if (outer?.name === "ArgList") {
      const call = outer.parent;
      const callee = call?.name === "NewExpression" ? call.firstChild?.nextSibling : call?.firstChild;
      if (!callee) return null;
      const path = context.state
        .sliceDoc(callee.from, callee.to)
        .split(".")
        .map((part) => part.trim());
      return parametersOf(declarations, path, placeOf(node), names);
    } else return null;
  }
}

/** Returns the argument's 0-based position in the call. */
function placeOf(argument: SyntaxNode): number {
  let place = 0;
  for (let before = argument.prevSibling; before !== null; before = before.prevSibling) {
    if (before.name === ",") place++;
  }
  return place;
}

function parametersOf(
  declarations: Declarations,
  path: string[],
  place: number,
  names: string[],
): readonly Member[] {
  const [first = "", ...rest] = path;
  const called =
    rest.length === 0
      ? declarations.globals.get(first)
      : membersAt(declarations, path.slice(0, -1)).find(({ name }) => name === path.at(-1));
  let members = called === undefined ? [] : declarations.membersOfParameter(called, place);
  for (const name of names) {
    const member = members.find((candidate) => candidate.name === name);
    members = member === undefined ? [] : declarations.membersOf(member);
  }
  return members;
}
