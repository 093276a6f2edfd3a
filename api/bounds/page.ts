const CHUNK_ROWS = 200;
const MAX_CHUNKS = 100;

export interface PageRequest<Position> {
  from: Position | null;
  limit: number;
}

export interface RowPage<Row, Position> {
  rows: Row[];
  next: Position | null;
}

/**
 * Reads a page. `show` drops rows that the caller may not see, so a page may have few rows even if another page
 * follows.
 */
export async function readPage<Row, Position>(
  { from, limit }: PageRequest<Position>,
  read: (page: PageRequest<Position>) => Promise<Row[]>,
  positionOf: (row: Row) => Position,
  show: (rows: Row[]) => Row[] | Promise<Row[]> = (rows) => rows,
): Promise<RowPage<Row, Position>> {
  const rows: Row[] = [];
  let at = from;
  for (let chunk = 0; chunk < MAX_CHUNKS; chunk += 1) {
    const size = chunk === 0 ? limit + 1 : CHUNK_ROWS;
    const found = await read({ from: at, limit: size });
    rows.push(...(await show(found)));
    if (rows.length > limit) {
      const shown = rows.slice(0, limit);
      return { rows: shown, next: positionOf(shown.at(-1) as Row) };
    }
    const last = found.at(-1);
    if (last === undefined || found.length < size) return { rows, next: null };
    at = positionOf(last);
  }
  return { rows, next: at };
}

export function readNumberedPage<Row extends { position: number }>(
  page: PageRequest<number>,
  read: (page: PageRequest<number>) => Promise<Row[]>,
  show?: (rows: Row[]) => Row[] | Promise<Row[]>,
): Promise<RowPage<Row, number>> {
  return readPage(page, read, ({ position }) => position, show);
}
