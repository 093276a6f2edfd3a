/** Standard streams: colours on a terminal, plain text in a pipe, and foreign text made safe for a terminal. */
import type { Readable } from "node:stream";
import { styleText } from "node:util";
import { visibleLine } from "#client/visible-text.ts";

export interface Terminal {
  readonly isTty: boolean;
  /** Terminal width, or a typical width elsewhere. */
  readonly columns: number;
  /** Writes text unchanged: make foreign text safe first. */
  write(text: string): void;
  /** Returns the text unchanged if colours are off. */
  paint(style: "bold" | "dim" | "red" | "green" | "yellow" | "cyan", text: string): string;
  flushed(): Promise<void>;
}

export interface Streams {
  stdin: Readable & { isTTY?: boolean };
  stdout: Terminal;
  stderr: Terminal;
}

type Writer = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** `hasColors` comes from the environment; pipes never get colours. */
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

/** Controls except tab and line feed, other line ends, and direction marks. */
const UNSAFE = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Makes text of several lines safe for a terminal: escape sequences, control characters and direction marks are
 * shown, not executed. A script could otherwise rewrite earlier lines or imitate the command's own. Tabs and line
 * feeds stay; CRLF becomes LF.
 */
export function safeLines(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSAFE, visibleLine);
}

/** Like `safeLines`, for text in pieces: a carriage return at the end of one piece belongs to the next. */
export function createSafeStream(): (text: string, isLast?: boolean) => string {
  let held = "";
  return (text, isLast = false) => {
    const whole = held + text;
    held = !isLast && whole.endsWith("\r") ? "\r" : "";
    return safeLines(whole.slice(0, whole.length - held.length));
  };
}
