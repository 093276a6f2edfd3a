/** Reads the files that a downloaded document refers to, one after another, and bundles them. */
import type { DefinitionSource } from "#sdk";
import { MAX_TRIED_FILES } from "./domain.ts";
import { DocumentError } from "./failures.ts";
import type { FoundFile, Scan } from "./generate/bundle.ts";

export interface Bundling {
  scan(url: string, text: string): Promise<Scan>;
  bundle(url: string, text: string, found: FoundFile[]): Promise<string>;
}

/** Returns the document unchanged if it stands alone or cannot be read. @throws DocumentError */
export async function bundleDefinition(
  { scan, bundle }: Bundling,
  text: string,
  { url, read }: DefinitionSource,
): Promise<string> {
  const look = async (address: string, content: string): Promise<Scan> => {
    try {
      return await scan(address, content);
    } catch (error) {
      if (error instanceof DocumentError) return { files: [], isBound: false };
      throw error;
    }
  };
  const first = await look(url, text);
  if (!first.isBound) return text;
  const found = new Map<string, FoundFile>();
  const waiting = new Set(first.files);
  for (const file of waiting) {
    if (file === url) continue;
    if (found.size >= MAX_TRIED_FILES) break;
    try {
      const content = await read(file);
      found.set(file, { url: file, text: content });
      for (const further of (await look(file, content)).files) waiting.add(further);
    } catch (error) {
      found.set(file, { url: file, problem: (error as Error).message });
    }
  }
  return bundle(url, text, [...found.values()]);
}
