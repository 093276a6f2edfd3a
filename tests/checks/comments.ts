import { ts } from "@ts-morph/common";

export interface Comment {
  /** Line of its first character, from 1. */
  line: number;
  /** Without its delimiters, on one line. */
  text: string;
}

export function parse(name: string, text: string): ts.SourceFile {
  const kind = name.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, kind);
}

/** Calls `visit` with every token. The compiler decides what is code, so that a comment inside a string is not a comment. */
export function visitTokens(source: ts.SourceFile, visit: (token: ts.Node) => void): void {
  const walk = (node: ts.Node): void => {
    const children = node.getChildren(source).filter(({ kind }) => kind !== ts.SyntaxKind.JSDoc);
    if (children.length === 0) visit(node);
    for (const child of children) walk(child);
  };
  walk(source);
}

/** Returns the comments of a file. `//` lines that follow each other are one comment. */
export function readComments(source: ts.SourceFile): Comment[] {
  const ranges = new Map<number, ts.CommentRange>();
  visitTokens(source, (token) => {
    if (token.kind === ts.SyntaxKind.JsxText) return;
    for (const position of [token.pos, token.end]) {
      const read = position === token.pos ? ts.getLeadingCommentRanges : ts.getTrailingCommentRanges;
      for (const range of read(source.text, position) ?? []) ranges.set(range.pos, range);
    }
  });
  const comments: (Comment & { lastLine: number; isLine: boolean })[] = [];
  for (const { pos, end } of [...ranges.values()].sort((a, b) => a.pos - b.pos)) {
    const raw = source.text.slice(pos, end);
    const isLine = raw.startsWith("//");
    const text = raw
      .replaceAll(/^\/\*+|\*+\/$|^\/\/+|^\s*\* ?/gm, " ")
      .replaceAll(/\s+/g, " ")
      .trim();
    const line = source.getLineAndCharacterOfPosition(pos).line + 1;
    const lastLine = source.getLineAndCharacterOfPosition(end).line + 1;
    const before = comments.at(-1);
    if (isLine && before?.isLine && before.lastLine === line - 1) {
      before.text += ` ${text}`;
      before.lastLine = lastLine;
    } else comments.push({ line, text, lastLine, isLine });
  }
  return comments.map(({ line, text }) => ({ line, text }));
}
