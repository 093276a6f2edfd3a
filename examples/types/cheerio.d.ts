// What html-extraction.ts uses of cheerio: its own declarations bring Node's along, which a script does not have.
interface Selection {
  slice(start: number): Selection;
  find(selector: string): Selection;
  map<T>(describe: (index: number, element: unknown) => T): Iterable<T> & { get(): T[] };
  text(): string;
  attr(name: string): string | undefined;
}
export declare function load(html: string): (selectorOrElement: unknown) => Selection;
