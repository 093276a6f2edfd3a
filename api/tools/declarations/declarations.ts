/**
 * TypeScript declarations of all tools a caller can see and call. Written in a thread, one service at a time, and kept
 * by the hash of what they show, so a change of a service is seen at the next request.
 */
import { createHash } from "node:crypto";
import { createJobThread } from "#modules/shared/job-thread.ts";
import { createSerialQueue } from "../../bounds/serial-queue.ts";
import type { Db } from "../../db/pool.ts";
import { AppError } from "../../errors.ts";
import type { CallCaller, CallGate } from "../gate.ts";
import { type DeclarableService, listDeclarable, readDeclarableTools } from "../store.ts";
import { type DeclaredService, namespaceOf, printAmbient } from "./ambient.ts";
import type { DeclarationAnswer, DeclarationJob } from "./thread.ts";

const DECLARATION_LIMITS = {
  /** Of all texts that are kept. */
  maxCachedBytes: 64 * 1024 * 1024,
  /** Tools of one document that get types; services beyond that can be called in any way. */
  maxTypedTools: 5000,
  maxServices: 1000,
  maxWriteMs: 60_000,
  maxWaiting: 100,
  maxHeapMb: 768,
  idleMs: 30_000,
} as const;

export interface WrittenDeclarations {
  /** UTF-8. */
  text: Buffer;
  entityTag: string;
}

export interface Declarations extends AsyncDisposable {
  write(serviceId: string | undefined, caller: CallCaller): Promise<WrittenDeclarations>;
}

interface Part {
  service: DeclarableService;
  /** Null: without types. */
  key: string | null;
}

/** `failureOf`: why a service cannot be called although its rows say nothing against it. */
export function createDeclarations(
  db: Db,
  gate: CallGate,
  failureOf: (serviceId: string) => string | null,
): Declarations {
  const thread = createJobThread<DeclarationJob, DeclarationAnswer>(
    new URL("./thread.ts", import.meta.url),
    DECLARATION_LIMITS,
  );
  const turns = createSerialQueue(
    DECLARATION_LIMITS.maxWaiting,
    () =>
      new AppError("rate_limited", "Too many declarations are being written already.", {
        retryAfterSeconds: 5,
      }),
  );
  const services = createTextCache(DECLARATION_LIMITS.maxCachedBytes / 2);
  const documents = createTextCache(DECLARATION_LIMITS.maxCachedBytes / 2);

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

  /** The namespace of a service; null when it cannot be written. */
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

  async function writeDocument(parts: readonly Part[], key: string): Promise<Buffer> {
    const known = documents.get(key);
    if (known !== undefined) return known;
    const namespaces: Buffer[] = [];
    const declared: DeclaredService[] = [];
    for (const part of parts) {
      const text = await writeNamespace(part);
      if (text !== null) namespaces.push(text);
      declared.push({ id: part.service.id, namespace: text === null ? null : namespaceOf(part.service.id) });
    }
    const document = Buffer.concat([Buffer.from(printAmbient(declared)), Buffer.from("\n"), ...namespaces]);
    documents.set(key, document);
    return document;
  }

  return {
    async write(serviceId, caller) {
      const parts = planParts(await listDeclarable(db, serviceId), caller);
      const key = hashOf(...parts.map((part) => part.key ?? part.service.id));
      const text = documents.get(key) ?? (await turns.run(() => writeDocument(parts, key)));
      return { text, entityTag: `"${key.slice(0, 32)}"` };
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

function hashOf(...texts: string[]): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(`${text.length} ${text}`);
  return hash.digest("hex");
}

interface TextCache {
  get(key: string): Buffer | undefined;
  set(key: string, text: Buffer): void;
}

/** Keeps what was used last, up to a number of bytes. */
function createTextCache(maxBytes: number): TextCache {
  const texts = new Map<string, Buffer>();
  let bytes = 0;
  return {
    get(key) {
      const text = texts.get(key);
      if (text === undefined) return undefined;
      texts.delete(key);
      texts.set(key, text);
      return text;
    },
    set(key, text) {
      bytes += text.length - (texts.get(key)?.length ?? 0);
      texts.delete(key);
      texts.set(key, text);
      for (const [oldest, { length }] of texts) {
        if (bytes <= maxBytes) break;
        texts.delete(oldest);
        bytes -= length;
      }
    },
  };
}
