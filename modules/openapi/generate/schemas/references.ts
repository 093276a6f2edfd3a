/** Follows a document's `$ref`s, within the document only. Fetches nothing. */
import { $RefParser } from "@apidevtools/json-schema-ref-parser";
import { type Fields, isRecord, own, ownText } from "#kernel/foreign-json.ts";
import { DocumentError } from "../../failures.ts";
import { UNREAD_KEY } from "../read-document.ts";

const PLACE = "/openapi.json";

const OUTSIDE =
  "is outside of the document. Other files are read only if the document is installed by URL: at most 50, of the same origin. Otherwise bundle everything into one document.";

export interface References {
  resolve(reference: string): unknown;
  /** Returns the value itself, or its target if it is a reference. Returns undefined for anything but an object. */
  follow(value: unknown): Fields | undefined;
}

export async function createReferences(document: Fields): Promise<References> {
  const parser = new $RefParser();
  await parser.parse(PLACE, document, { resolve: { external: false } });
  const found = new Map<string, unknown>();

  function resolve(reference: string): unknown {
    const known = found.get(reference);
    if (known !== undefined) return known;
    if (!reference.startsWith("#")) {
      const reason = ownText(own(document, UNREAD_KEY), reference.replace(/#.*$/, ""));
      throw new DocumentError(
        `It refers to ${JSON.stringify(reference.slice(0, 200))}, which ${reason === undefined ? OUTSIDE : `could not be read: ${reason}`}`,
      );
    }
    const value = lookUp(reference);
    found.set(reference, value);
    return value;
  }

  function lookUp(reference: string): unknown {
    try {
      return parser.$refs.get(reference);
    } catch {
      throw new DocumentError(
        `It refers to ${JSON.stringify(reference.slice(0, 200))}, which the document does not have.`,
      );
    }
  }

  function follow(value: unknown): Fields | undefined {
    const reference = ownText(value, "$ref");
    const target = reference === undefined ? value : resolve(reference);
    return isRecord(target) ? target : undefined;
  }

  return { resolve, follow };
}
