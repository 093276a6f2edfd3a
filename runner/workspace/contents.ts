/**
 * Contents of one run's files: lists of extents from input files and the spool. Contents are immutable, and those
 * derived from each other share their extents. Independent of file names.
 */
import type { Spool } from "./spool.ts";

/** Reads at `offset`; returns fewer bytes than `length` only at the end. */
export type ReadAt = (offset: number, length: number) => Promise<Uint8Array>;

export interface Extent {
  from: ReadAt | "spool" | "zeros";
  at: number;
  length: number;
}

export interface Content {
  /** The list may have further extents that belong to other contents. */
  readonly extents: { readonly list: Extent[]; size: number };
  readonly size: number;
}

/**
 * Minimum size of every extent but the last: shorter ones are copied together with what follows. Reads therefore
 * cross few extents, however small a script's writes are, and a file's size limits its number of extents.
 */
const MIN_EXTENT_BYTES = 4096;

export function emptyContent(): Content {
  return { extents: { list: [], size: 0 }, size: 0 };
}

export function givenContent(read: ReadAt, size: number): Content {
  return { extents: { list: size > 0 ? [{ from: read, at: 0, length: size }] : [], size }, size };
}

/** Returns the extents of a range. They stay readable after the file changes or is deleted. */
export function extentsOf(content: Content, offset = 0, end = content.size): Extent[] {
  const found: Extent[] = [];
  let at = 0;
  for (const extent of content.extents.list) {
    const from = Math.max(offset, at);
    const to = Math.min(end, content.size, at + extent.length);
    if (from < to) found.push({ from: extent.from, at: extent.at + from - at, length: to - from });
    at += extent.length;
    if (at >= end) break;
  }
  return found;
}

export type Contents = ReturnType<typeof createContents>;

export function createContents(spool: Spool) {
  let spoolEnd = 0;

  async function store(data: Uint8Array): Promise<Extent> {
    const at = spoolEnd;
    spoolEnd += data.length;
    await spool.write(data, at);
    return { from: "spool", at, length: data.length };
  }

  async function readOne({ from, at, length }: Extent): Promise<Uint8Array> {
    if (from === "zeros") return Buffer.alloc(length);
    return from === "spool" ? spool.read(at, length) : from(at, length);
  }

  async function read(extents: readonly Extent[]): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (const extent of extents) pieces.push(await readOne(extent));
    return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
  }

  /** Appends to the content's own list if no other content has appended to it. */
  async function attach(before: Content, added: readonly Extent[]): Promise<Content> {
    const extents =
      before.extents.size === before.size ? before.extents : { list: extentsOf(before), size: before.size };
    const { list } = extents;
    for (const extent of added) {
      const last = list.at(-1);
      if (last === undefined) list.push(extent);
      else if (follows(last, extent)) {
        list[list.length - 1] = { ...last, length: last.length + extent.length };
      } else if (last.length >= MIN_EXTENT_BYTES) list.push(extent);
      else {
        const count = extent.length < 2 * MIN_EXTENT_BYTES ? extent.length : MIN_EXTENT_BYTES;
        const rest = { ...extent, at: extent.at + count, length: extent.length - count };
        list[list.length - 1] = await store(
          Buffer.concat([await readOne(last), await readOne({ ...extent, length: count })]),
        );
        if (rest.length > 0) list.push(rest);
      }
      extents.size += extent.length;
    }
    return { extents, size: extents.size };
  }

  async function resize(content: Content, size: number): Promise<Content> {
    if (size <= content.size) return { extents: content.extents, size };
    return attach(content, [{ from: "zeros", at: 0, length: size - content.size }]);
  }

  return {
    read,
    attach,
    resize,
    append: async (before: Content, data: Uint8Array): Promise<Content> =>
      data.length === 0 ? before : attach(before, [await store(data)]),
    async patch(before: Content, added: Content, at: number): Promise<Content> {
      const head = await resize(before, at);
      // Starts a new list: copies of `before` would see extents appended to its list.
      const own = { extents: { list: extentsOf(head), size: head.size }, size: head.size };
      const patched = await attach(own, extentsOf(added));
      return attach(patched, extentsOf(before, at + added.size));
    },
  };
}

function follows(last: Extent, next: Extent): boolean {
  if (last.from === "zeros") return next.from === "zeros";
  return last.from === next.from && last.at + last.length === next.at;
}
