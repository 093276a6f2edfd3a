/**
 * Renders untrusted Markdown as elements: HTML in it is shown as text, nothing is loaded, and links show their
 * target.
 */
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

const SAFE_LINK = /^https?:\/\//i;
/** Longer documentation is cut, because parsing blocks the page. */
const MAX_CHARACTERS = 200_000;
const MAX_DEPTH = 20;
const ENTITIES: Record<string, string> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};

/** Elements for tokens that only contain other tokens. */
const PLAIN: Partial<Record<string, "h3" | "p" | "strong" | "em" | "del" | "blockquote" | "li">> = {
  heading: "h3",
  paragraph: "p",
  strong: "strong",
  em: "em",
  del: "del",
  blockquote: "blockquote",
  list_item: "li",
};

export default function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => new Lexer({ gfm: true }).lex(text.slice(0, MAX_CHARACTERS)), [text]);
  return <div class="prose">{renderAll(tokens, 0)}</div>;
}

function renderAll(tokens: readonly Token[] | undefined, depth: number): ComponentChildren {
  return depth > MAX_DEPTH ? null : tokens?.map((token) => render(token as MarkedToken, depth + 1));
}

function render(token: MarkedToken, depth: number): ComponentChildren {
  const inside = () => renderAll("tokens" in token ? token.tokens : undefined, depth);
  const Tag = PLAIN[token.type];
  if (Tag !== undefined) return <Tag>{inside()}</Tag>;
  switch (token.type) {
    case "code":
      return (
        <pre>
          <code>{token.text}</code>
        </pre>
      );
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    case "list": {
      const List = token.ordered ? "ol" : "ul";
      return <List>{renderAll(token.items, depth)}</List>;
    }
    case "table":
      return renderTable(token, depth);
    case "link":
      if (!SAFE_LINK.test(token.href)) return <span>{inside()}</span>;
      return (
        <a href={token.href} target="_blank" rel="noopener noreferrer nofollow" title={token.href}>
          {inside()}
        </a>
      );
    case "image":
      return <span class="muted">[{token.text || "picture"}]</span>;
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "text":
      return token.tokens === undefined ? decode(token.text) : inside();
    case "escape":
      return decode(token.text);
    case "space":
    case "def":
      return null;
    default:
      return token.raw;
  }
}

function renderTable({ header, rows }: Tokens.Table, depth: number) {
  const cells = (row: readonly Tokens.TableCell[], Cell: "th" | "td") => (
    <tr>
      {row.map((cell) => (
        <Cell>{renderAll(cell.tokens, depth)}</Cell>
      ))}
    </tr>
  );
  return (
    <table>
      <thead>{cells(header, "th")}</thead>
      <tbody>{rows.map((row) => cells(row, "td"))}</tbody>
    </table>
  );
}

/** Decodes the few entities that documentation uses and leaves others unchanged. */
function decode(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}
