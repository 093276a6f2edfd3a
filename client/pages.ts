/** Reads complete lists that a server returns page by page. */
import { unwrap } from "./errors.ts";

const PAGE_ITEMS = 200;
/** No list that people create by hand is longer. */
const MAX_ITEMS = 10_000;

export interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

interface PageQuery {
  limit: string;
  cursor?: string;
}

/**
 * Reads all items of a list, about `maxItems` at most. `key` is the response member that contains them. Throws
 * CyrnelError.
 */
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
