/** A cache that is bounded by what its entries occupy. */
interface BoundedCache<V> {
  get(key: string): V | undefined;
  /** `bytes`: what the entry occupies, about. One larger than the whole cache is not kept. */
  set(key: string, value: V, bytes: number): void;
}

/** A cache that forgets what was not asked for the longest. */
export function createBoundedCache<V>(maxBytes: number): BoundedCache<V> {
  const entries = new Map<string, { value: V; bytes: number }>();
  let heldBytes = 0;
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, bytes) {
      if (bytes > maxBytes) return;
      heldBytes += bytes - (entries.get(key)?.bytes ?? 0);
      entries.delete(key);
      entries.set(key, { value, bytes });
      for (const [oldest, entry] of entries) {
        if (heldBytes <= maxBytes) break;
        entries.delete(oldest);
        heldBytes -= entry.bytes;
      }
    },
  };
}
