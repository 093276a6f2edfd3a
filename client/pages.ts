/** Lists that a server answers page by page, read whole. */
import { unwrap } from "./errors.ts";

const PAGE_ITEMS = 200;
/** Nothing that is set up by hand is longer. */
const MAX_ITEMS = 10_000;

/** An answer of the typed client. */
export interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

interface PageQuery {
  limit: string;
  cursor?: string;
}

/** Reads all items of a list, about `maxItems` at most. `key` names them in the answer. Throws CyrnelError. */
export async function readAll<K extends string, T>(
  key: K,
  readPage: (query: PageQuery) => Promise<Answer<Record<K, T[]> & { nextCursor: string | null }>>,
  maxItems = MAX_ITEMS,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null && all.length < maxItems) {
    const query = { limit: String(PAGE_ITEMS), ...(cursor !== undefined && { cursor }) };
    const page = unwrap(await readPage(query));
    all.push(...page[key]);
    cursor = page.nextCursor;
  }
  return all;
}
