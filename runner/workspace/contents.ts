/**
 * What is in the files of one run: lists of extents, of what was given and of what lies in the spool. Contents are never changed:
 * those that come from one another share what they have in common. Knows no names.
 */
import type { Spool } from "./spool.ts";

/** Reads at `offset`: fewer bytes than `length` only at the end of what is read. */
export type ReadAt = (offset: number, length: number) => Promise<Uint8Array>;

export interface Extent {
  from: ReadAt | "spool" | "zeros";
  at: number;
  length: number;
}

export interface Content {
  /** More may be attached to it than belongs to this content. */
  readonly extents: { readonly list: Extent[]; size: number };
  readonly size: number;
}

/**
 * Of every extent but the last: shorter ones are copied together with what follows. So a read crosses few of them, however small the
 * pieces were that a script wrote, and a file has no more than its size allows.
 */
const MIN_EXTENT_BYTES = 4096;

export function emptyContent(): Content {
  return { extents: { list: [], size: 0 }, size: 0 };
}

export function givenContent(read: ReadAt, size: number): Content {
  return { extents: { list: size > 0 ? [{ from: read, at: 0, length: size }] : [], size }, size };
}

/** A range of a content, as it can be read whatever comes of the file. */
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

  /** A content followed by others: in its own list where nothing else was attached to that. */
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
    /** `added` in the place of what was at `at`. */
    async patch(before: Content, added: Content, at: number): Promise<Content> {
      const head = await resize(before, at);
      // A list of its own: what is attached to that of `before` would be seen by its copies.
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
