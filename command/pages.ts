/** Lists of a server, page by page up to a bound. */

const PAGE_ITEMS = 200;
/** No person reads more, and no list of things that are set up by hand is longer. */
const MAX_ITEMS = 10_000;

/** `read` gets the query of one page; answers all items there are, at most MAX_ITEMS. */
export async function readAll<T>(
  read: (query: { limit: string; cursor?: string }) => Promise<{ items: T[]; nextCursor: string | null }>,
): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | null | undefined; cursor !== null && all.length < MAX_ITEMS; ) {
    const page = await read({ limit: String(PAGE_ITEMS), ...(cursor !== undefined && { cursor }) });
    all.push(...page.items);
    cursor = page.nextCursor;
  }
  return all;
}
