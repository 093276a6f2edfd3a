/**
 * Sources made to hold up whoever parses them. A server may refuse one or run it; either way, only that run may notice.
 * `npm run bench -- attacks` submits them too.
 */
export interface HostileSource {
  name: string;
  code: string;
  files?: Record<string, { text: string }>;
  /** The only reason its run may end with. */
  reason?: string;
}

const EMOJI = "\\p{RGI_Emoji}";

/** `maxChars`: how long a script may be. */
export function listHostileSources(maxChars: number): HostileSource[] {
  const fill = (text: string, most = maxChars) => text.repeat(Math.floor(most / text.length));
  const number = (line: (index: number) => string, most = maxChars) => {
    let text = "";
    for (let index = 0; ; index++) {
      const next = line(index);
      if (text.length + next.length > most) return text;
      text += next;
    }
  };
  const file = (name: string, text: string): Pick<HostileSource, "code" | "files"> => ({
    code: `import x from "./${name}"; return typeof x;`,
    files: { [name]: { text } },
  });
  const body = maxChars - 200;
  return [
    { name: "a class of strings", code: `return /[${EMOJI.repeat(3000)}]/v` },
    {
      name: "classes of strings within each other",
      code: `return /${"[".repeat(900)}${EMOJI}${"]".repeat(900)}/v`,
    },
    { name: "an intersection of classes", code: `return /[${fill(`${EMOJI}&&`, 30_000)}${EMOJI}]/v` },
    { name: "many expressions", code: fill(`/[${EMOJI}${EMOJI}]/v;`, body) },
    { name: "named groups", code: `return /${number((index) => `(?<a${index}>)|`, body)}x/` },
    {
      name: "a counted expression",
      code: `return /${"(".repeat(30)}a${"{99}){99}".repeat(15)}${")".repeat(15)}/`,
    },
    {
      name: "a file that is no JSON",
      ...file("x.json", `[/[${EMOJI.repeat(12_000)}]/v, x`),
      reason: "syntax_error",
    },
    {
      name: "1 MB of JSON that does not end",
      ...file("x.json", `[${fill("1,", 1_000_000)}x`),
      reason: "syntax_error",
    },
    {
      name: "JSON of strings",
      ...file("x.json", `[${fill('"\\u0041",', 1_000_000)}x`),
      reason: "syntax_error",
    },
    {
      name: "JSON of many keys",
      ...file("x.json", `{${number((index) => `"k${index}":1,`, 1_000_000)}"k":1}`),
    },
    { name: "JSON that is nested", ...file("x.json", "[".repeat(1_000_000)), reason: "syntax_error" },
    { name: "a file with an expression", ...file("x.ts", `export default /[${EMOJI.repeat(3000)}]/v`) },
    {
      name: "a file of exports",
      ...file(
        "x.ts",
        number((index) => `export let a${index};`, 250_000),
      ),
    },
    { name: "decorated members", code: `class A{${number((index) => `@f a${index};`, body)}}` },
    { name: "decorated classes", code: number((index) => `class A${index}{@f x}`, body) },
    {
      name: "private names",
      code: `class A{${number((index) => `#a${index};`, body / 2)}f(){${fill("this.#a1;", body / 2)}}}`,
    },
    { name: "calls of import()", code: fill("import('x');", body) },
    { name: "imports of many packages", code: number((index) => `import "x${index}";`, body) },
    {
      name: "imports of many names",
      code: `import {${number((index) => `a as a${index},`, body)}} from "./x.ts";`,
    },
    {
      name: "an import of marks that have to be sorted",
      code: `import "./${fill("a\u0301\u0323", 30_000)}"; import("./${fill("\u0323\u0301", 20_000)}")`,
    },
    { name: "imports of types that never end", code: `return 1;${fill("import type a\n", body)}` },
    { name: "nested brackets", code: `${fill("[", body / 2)}${fill("]", body / 2)}` },
    { name: "nested arrow functions", code: `${fill("(a=>", body / 2)}1${fill(")", body / 4)}` },
    { name: "nested types", code: `let a:${fill("{a:", body)}` },
    { name: "generics that may be comparisons", code: fill("a<b<(", body) },
    { name: "arrows that may be conditions", code: `a?${fill("(a?", body)}` },
    { name: "nested templates", code: fill("`${", body) },
    { name: "a giant template", code: `return \`${fill(`\${1}`, body)}\`` },
    { name: "a chain of operators", code: `return ${fill("!", body)}1` },
    { name: "a chain of members", code: `return a${fill("?.a", body)}` },
    { name: "one comma expression", code: `return (${fill("1,", body)}1)` },
    { name: "escapes of letters", code: `return "${fill("\\u{1F600}", body)}"` },
    { name: "a name of escapes", code: `let ${fill("\\u{61}", body)} = 1;` },
    { name: "labels", code: `${number((index) => `a${index}:`, body)};` },
    { name: "declarations", code: number((index) => `let a${index};`, body) },
    { name: "one name, declared again and again", code: fill("var a;function b(){}", body) },
    { name: "destructuring", code: `let {${number((index) => `a${index}={a}=1,`, body)}} = 1;` },
    { name: "members that repeat", code: `return {${fill("__proto__:1,get a(){},", body)}}` },
    { name: "enumerations", code: number((index) => `enum A${index}{a,b=a}`, body) },
    { name: "namespaces", code: number((index) => `namespace A.b.c${index}{export let a}`, body) },
    { name: "fences", code: fill("```ts\n", body) },
    { name: "a fence with spaces after it", code: `\`\`\`${" ".repeat(body)}\`\nx` },
    { name: "an error at the end of a long line", code: `${fill("a;", body)}const = 1` },
  ];
}
