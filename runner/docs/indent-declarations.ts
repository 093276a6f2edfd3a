/** Layout of generated declarations: the generator writes correct but flat text, and its formatter is too slow. */

/** Indents by brace depth and removes blank lines inside declarations; the text must not be valid only by its layout. */
export function indentDeclarations(text: string): string {
  const lines: string[] = [];
  let depth = 0;
  let inComment = false;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "") continue;
    if (!inComment && line.startsWith("/**")) inComment = !line.includes("*/");
    else if (inComment) {
      inComment = !line.endsWith("*/");
      lines.push(`${"  ".repeat(depth)} ${line}`);
      continue;
    }
    const isComment = line.startsWith("/**");
    if (!isComment && line.startsWith("}")) depth = Math.max(0, depth - 1);
    if (depth === 0 && lines.length > 0 && !line.startsWith("}") && !lines.at(-1)?.endsWith("*/"))
      lines.push("");
    lines.push("  ".repeat(depth) + line);
    if (!isComment && line.endsWith("{")) depth += 1;
  }
  return lines.join("\n").replaceAll(/\{\n\s*\}/g, "{}");
}
