/** TypeScript to JavaScript by esbuild, and its errors as positions in the text it was given. */
import { type Message, stop, transform } from "esbuild";
import type { Position } from "./draft.ts";
import {
  createGate,
  LINK_OPTIONS,
  type Loader,
  TRANSFORM_OPTIONS,
  type Transformed,
  transformAlone,
} from "./transpile-alone.ts";

export type Transpiled =
  | { ok: true; code: string; mappings: string }
  /** No position when the error is not in the source's own lines. `isFinal`: trying it in another form is no use. */
  | { ok: false; message: string; position?: Position; isFinal?: true };

/** Of wall time in the service, else of CPU time. Sources of the largest size take a hundredth; some, nested in odd ways, take minutes and gigabytes. */
const MAX_TRANSPILE_MS = 3_000;
/**
 * A longer one is not given to the service that all share. In UTF-16 units: nested as deeply as can be, one takes the service about
 * 7 kB for each.
 */
const MAX_SHARED_CHARS = 16 * 1024;
/** Sources in the service at a time, which bounds its memory. */
const enterService = createGate(4);
/** Of generated code. Only what is written out for the engine, such as decorators, multiplies. In UTF-16 units. */
const MAX_CODE_CHARS = 8 * 1024 * 1024;
/** What has taken so long when the service is stopped because of another source counts as too slow itself. */
const SUSPECT_AFTER_MS = 1_500;
/** A source may lose the service all share to others that take too long, one after another. */
const MAX_ATTEMPTS = 5;

/** Services that were stopped; the library starts another with the next call. */
let stopped = 0;
/** Callers that wait for the present service; the library does not tell them that it has ended. */
const waiting = new Set<(outcome: "gone") => void>();

/** The last such comment counts: a source map in the script itself would map its errors to an unknown file. */
const NO_MAP = "\n//# sourceMappingURL=none";

/**
 * Never rejects for what is in the source. `linkedFrom`: mappings of `text`, which was transpiled before and is to have members of
 * modules in place of the names it imports.
 */
export async function transpile(
  text: string,
  loader: Loader = "ts",
  linkedFrom?: string,
): Promise<Transpiled> {
  const isLinking = linkedFrom !== undefined;
  const source = text + (isLinking ? inlineMap(linkedFrom) : NO_MAP);
  if (text.length > MAX_SHARED_CHARS) {
    const result = await transformAlone(source, loader, MAX_TRANSPILE_MS, isLinking);
    if (result === "lost") return { ok: false, message: TOO_MUCH, isFinal: true };
    if (result !== "refused") return read(result);
  }
  return enterService(() => transpileShared(source, loader, isLinking));
}

function inlineMap(mappings: string): string {
  const map = JSON.stringify({ version: 3, sources: [TRANSFORM_OPTIONS.sourcefile], names: [], mappings });
  return `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}`;
}

async function transpileShared(source: string, loader: Loader, isLinking: boolean): Promise<Transpiled> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const service = stopped;
    const startedAt = performance.now();
    try {
      const result = await transformInTime(source, loader, isLinking);
      if (result === "gone" && performance.now() - startedAt < SUSPECT_AFTER_MS) continue;
      if (typeof result !== "string") return read(result);
      await stopService(service);
      return { ok: false, message: TOO_MUCH, isFinal: true };
    } catch (error) {
      const [message] = (error as { errors?: Message[] }).errors ?? [];
      if (message !== undefined) return describe(message);
      if (!GONE.test(String(error))) throw error;
      await stopService(service);
    }
  }
  throw new Error("The transpiler was lost again and again; try once more.");
}
/** The library's words when the service has ended by itself. */
const GONE = /The service (?:was stopped|is no longer running)/;
const TOO_MUCH = `The source takes longer than ${MAX_TRANSPILE_MS / 1000} s to be read, or too much memory: it is nested too deeply, or one of its statements has too many parts.`;
const TOO_LONG = `The source becomes more than ${MAX_CODE_CHARS / 1024 / 1024} MB of JavaScript: it has too many parts that are written out for the engine, such as decorators.`;

/** Unless it was stopped already: the service after it must live. */
async function stopService(service: number): Promise<void> {
  if (service !== stopped) return;
  stopped++;
  for (const tell of waiting) tell("gone");
  waiting.clear();
  await stop();
}

/** `late`: the service still works on the source. `gone`: it was stopped because of another source. */
async function transformInTime(
  source: string,
  loader: Loader,
  isLinking: boolean,
): Promise<Transformed | "late" | "gone"> {
  const early = Promise.withResolvers<"late" | "gone">();
  const timer = setTimeout(() => early.resolve("late"), MAX_TRANSPILE_MS);
  waiting.add(early.resolve);
  try {
    return await Promise.race([
      early.promise,
      transform(source, {
        ...TRANSFORM_OPTIONS,
        ...(isLinking && LINK_OPTIONS),
        loader,
        sourcemap: "external",
        sourcesContent: false,
        logLevel: "silent",
        logLimit: 1,
      }),
    ]);
  } finally {
    clearTimeout(timer);
    waiting.delete(early.resolve);
  }
}

function read({ code, map }: Transformed): Transpiled {
  if (code.length > MAX_CODE_CHARS) return { ok: false, message: TOO_LONG, isFinal: true };
  const { mappings } = JSON.parse(map) as { mappings: string };
  return { ok: true, code, mappings };
}

function describe({ text, location }: Message): Transpiled {
  if (location === null) return { ok: false, message: text };
  const before = Buffer.from(location.lineText).subarray(0, location.column).toString();
  return { ok: false, message: text, position: { line: location.line, column: before.length + 1 } };
}
