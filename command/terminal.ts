/** Where a command writes and what it may assume about who reads: colours and a spinner on a terminal, plain lines in a pipe. */
import type { Readable } from "node:stream";
import { styleText } from "node:util";

/** Standard output or standard error. */
export interface Terminal {
  readonly isTty: boolean;
  /** Of the terminal; a usual number elsewhere. */
  readonly columns: number;
  /** As it is: whoever calls it has made foreign text safe. */
  write(text: string): void;
  /** The text itself where there are no colours. */
  paint(style: "bold" | "dim" | "red" | "green" | "yellow" | "cyan", text: string): string;
  /** Resolves when everything has been handed to the system. */
  flushed(): Promise<void>;
}

export interface Streams {
  stdin: Readable & { isTTY?: boolean };
  stdout: Terminal;
  stderr: Terminal;
}

type Writer = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** `hasColors`: what the environment says; a pipe has none. */
export function createTerminal(stream: Writer, hasColors: boolean): Terminal {
  const isTty = stream.isTTY === true;
  return {
    isTty,
    get columns() {
      return stream.columns ?? 80;
    },
    write: (text) => void (text !== "" && stream.write(text)),
    paint: (style, text) => (isTty && hasColors ? styleText(style, text, { validateStream: false }) : text),
    flushed: () => new Promise((resolve) => void stream.write("", () => resolve())),
  };
}
