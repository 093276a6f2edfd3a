/**
 * TypeScript declarations of all tools a caller can see and call. Written in a thread, one service at a time, and
 * cached by the hash of their content, so a service change is visible at the next request.
 */
import { createHash, hash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { createQueue } from "#api/bounds/queue.ts";
import { createJobThread } from "#modules/shared/job-thread.ts";
import type { Db } from "../../db/pool.ts";
import { AppError } from "../../errors.ts";
import type { CallCaller, CallGate } from "../contract.ts";
import { type DeclarableService, listDeclarable, readDeclarableTools } from "../store.ts";
import { type DeclaredService, namespaceOf, printAmbient } from "./ambient.ts";
import type { DeclarationAnswer, DeclarationJob } from "./thread.ts";

const DECLARATION_LIMITS = {
  maxCachedBytes: 64 * 1024 * 1024,
  /** Maximum number of tools with types in one document. Services beyond it can be called in any way. */
  maxTypedTools: 5000,
  maxServices: 1000,
  maxWriteMs: 60_000,
  maxWaiting: 100,
  maxHeapMb: 768,
  idleMs: 30_000,
} as const;

export interface DeclarationsWish {
  serviceId?: string | undefined;
  withGlobals: boolean;
  /** Declarations of packages, appended to the document. */
  packages: string;
}

export interface WrittenDeclarations {
  text: Buffer;
  gzipped: Buffer;
  digest: string;
}

export interface Declarations extends AsyncDisposable {
  write(wish: DeclarationsWish, caller: CallCaller): Promise<WrittenDeclarations>;
}

interface Part {
  service: DeclarableService;
  /** Null without types. */
  key: string | null;
}

/** `failureOf` returns why a service cannot be called although its rows in the database look fine, or null. */
export function createDeclarations(
  db: Db,
  gate: CallGate,
  failureOf: (serviceId: string) => string | null,
): Declarations {
  const thread = createJobThread<DeclarationJob, DeclarationAnswer>(
    new URL("./thread.ts", import.meta.url),
    DECLARATION_LIMITS,
  );
  const turns = createQueue({
    maxHeld: DECLARATION_LIMITS.maxWaiting,
    refuse: () =>
      new AppError("rate_limited", "Too many declarations are being written already.", {
        retryAfterSeconds: 5,
      }),
  });
  const services = createCache<Buffer>(DECLARATION_LIMITS.maxCachedBytes / 2, (text) => text.length);
  const documents = createCache<WrittenDeclarations>(
    DECLARATION_LIMITS.maxCachedBytes / 2,
    ({ text, gzipped }) => text.length + gzipped.length,
  );

  function planParts(found: readonly DeclarableService[], caller: CallCaller): Part[] {
    let typedTools = 0;
    const parts: Part[] = [];
    for (const service of found.slice(0, DECLARATION_LIMITS.maxServices)) {
      if (failureOf(service.id) !== null) continue;
      const toolIds = service.toolIds.filter((toolId) =>
        gate.canSee(caller, { serviceId: service.id, toolId }),
      );
      if (toolIds.length === 0) continue;
      const isTyped = typedTools + toolIds.length <= DECLARATION_LIMITS.maxTypedTools;
      if (isTyped) typedTools += toolIds.length;
      const key = isTyped ? hashOf(service.id, service.hash, toolIds.join(" ")) : null;
      parts.push({ service: { ...service, toolIds }, key });
    }
    return parts;
  }

  /** Returns null if the namespace cannot be written. */
  async function writeNamespace({ service, key }: Part): Promise<Buffer | null> {
    if (key === null) return null;
    const known = services.get(key);
    if (known !== undefined) return known;
    const tools = await readDeclarableTools(db, service.id, service.toolIds);
    const end = await thread.run(
      { namespace: namespaceOf(service.id), tools },
      DECLARATION_LIMITS.maxWriteMs,
    );
    if (end.kind !== "answered" || "failed" in end.answer) return null;
    const text = Buffer.from(end.answer.text);
    services.set(key, text);
    return text;
  }

  async function writeDocument(
    parts: readonly Part[],
    { withGlobals, packages }: DeclarationsWish,
    key: string,
  ): Promise<WrittenDeclarations> {
    const known = documents.get(key);
    if (known !== undefined) return known;
    const namespaces: Buffer[] = [];
    const declared: DeclaredService[] = [];
    for (const part of parts) {
      const text = await writeNamespace(part);
      if (text !== null) namespaces.push(text);
      declared.push({ id: part.service.id, namespace: text === null ? null : namespaceOf(part.service.id) });
    }
    const ambient = Buffer.from(`${printAmbient(declared, withGlobals)}\n`);
    const text = Buffer.concat([ambient, ...namespaces, Buffer.from(packages)]);
    const document = { text, gzipped: await promisify(gzip)(text), digest: hash("sha256", text) };
    documents.set(key, document);
    return document;
  }

  return {
    async write(wish, caller) {
      const parts = planParts(await listDeclarable(db, wish.serviceId), caller);
      const key = hashOf(String(wish.withGlobals), wish.packages, ...parts.map(identityOf));
      return documents.get(key) ?? (await turns.run(() => writeDocument(parts, wish, key)));
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

/** Services without types are written differently, whatever their tools are. */
function identityOf({ key, service }: Part): string {
  return key ?? service.id;
}

function hashOf(...texts: string[]): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(`${text.length} ${text}`);
  return hash.digest("hex");
}

interface Cache<T> {
  get(key: string): T | undefined;
  set(key: string, entry: T): void;
}

function createCache<T>(maxBytes: number, sizeOf: (entry: T) => number): Cache<T> {
  const entries = new Map<string, T>();
  let bytes = 0;
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry;
    },
    set(key, entry) {
      const replaced = entries.get(key);
      bytes += sizeOf(entry) - (replaced === undefined ? 0 : sizeOf(replaced));
      entries.delete(key);
      entries.set(key, entry);
      for (const [oldest, dropped] of entries) {
        if (bytes <= maxBytes) break;
        entries.delete(oldest);
        bytes -= sizeOf(dropped);
      }
    },
  };
}
