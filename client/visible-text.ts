/**
 * Makes untrusted text safe to read: shows invisible characters, and characters that would change the text around
 * them, as escapes. Use it wherever someone reads before deciding: console, command, MCP clients.
 */

/**
 * Controls; direction marks, joiners, tags and other format characters; line ends other than line feed; lone
 * surrogates; Default_Ignorable_Code_Point (variation selectors, fillers); the blank Braille pattern; more than four
 * combining marks on one letter. Excludes the parts of an emoji.
 */
const HIDDEN =
  /(?!(?<=\p{Extended_Pictographic})\ufe0f|(?<=\p{Extended_Pictographic}\ufe0f?)\u200d(?=\p{Extended_Pictographic}))[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]|(?<=\p{M}{4})\p{M}/gu;
const LINE_OR_TAB = /[\n\t]/;

export interface TextPart {
  text: string;
  /** True for a character that is shown as its escape. */
  isHidden: boolean;
}

/** Line feeds and tabs stay. */
export function splitHidden(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(HIDDEN)) {
    if (LINE_OR_TAB.test(character)) continue;
    if (index > from) parts.push({ text: text.slice(from, index), isHidden: false });
    parts.push({ text: escapeCharacter(character), isHidden: true });
    from = index + character.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isHidden: false });
  return parts;
}

export function visibleText(text: string): string {
  return text.replace(HIDDEN, (character) =>
    LINE_OR_TAB.test(character) ? character : escapeCharacter(character),
  );
}

/** Also escapes line feeds and tabs. */
export function visibleLine(text: string): string {
  return text.replace(HIDDEN, escapeCharacter);
}

/** Returns equivalent JSON with members in their order. `space` works like that of JSON.stringify. */
export function visibleJson(value: unknown, space?: number): string {
  return (JSON.stringify(value, null, space) ?? "null").replace(HIDDEN, (character) =>
    LINE_OR_TAB.test(character) ? character : character.split("").map(escapeUnit).join(""),
  );
}

const SHORT: Readonly<Record<string, string>> = { "\u001b": "\\e", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return SHORT[character] ?? (code > 0xffff ? `\\u{${code.toString(16)}}` : escapeUnit(character));
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Returns a call's path for the call trail. A `fetch` request that no rule allows has no tool: `toolId` is empty. */
export function describePath({ serviceId, toolId }: { serviceId: string; toolId: string }): string {
  return toolId === "" ? serviceId : `${serviceId}.${toolId}`;
}

/** Fields of an approval that describe its origin. */
export interface Request {
  processId: number;
  requestedBy: string;
  requestedByName: string | null;
  kind: "call" | "ask";
  serviceId: string | null;
  toolId: string | null;
}

/** The server's description of a request (method, address, size), or null if only its tool is known. */
export function describeCall({
  kind,
  message,
  serviceId,
  toolId,
}: Request & { message: string }): string | null {
  const isMore = kind === "call" && message !== `The script wants to call ${serviceId}.${toolId}.`;
  return isMore ? visibleLine(message) : null;
}

/** Says who requests what. It precedes the script's own text wherever approval is requested. */
export function describeOrigin(request: Request): string {
  const { processId, requestedBy, requestedByName, kind, serviceId, toolId } = request;
  const who = requestedByName === null ? requestedBy : `${requestedByName} (${requestedBy})`;
  const wish = kind === "ask" ? "asks" : `wants to call ${serviceId}.${toolId}`;
  return visibleLine(`Process ${processId}, submitted by ${who}, ${wish}`);
}
