/** A text in the browser's storage. Without storage or space, nothing is stored and nothing fails. */
export interface StoredText {
  read(): string | null;
  /** Null removes it. */
  write(text: string | null): void;
}

/** `open` is a function because accessing a storage may throw. */
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
        // The page still has the text in memory.
      }
    },
  };
}
