/** A text that the browser keeps for this page. Where it has no storage, or no room, nothing is kept and nothing fails. */
export interface StoredText {
  read(): string | null;
  /** Null removes it. */
  write(text: string | null): void;
}

/** `open`: to look at a storage can throw already. */
export function storedText(open: () => Storage, name: string): StoredText {
  return {
    read() {
      try {
        return open().getItem(name);
      } catch {
        return null;
      }
    },
    write(text) {
      try {
        if (text === null) open().removeItem(name);
        else open().setItem(name, text);
      } catch {
        // The page has it in memory.
      }
    },
  };
}
