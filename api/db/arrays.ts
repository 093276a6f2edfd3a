/**
 * How arrays travel between the driver and Postgres. By default the driver asks each new connection for all array
 * types there are, with a query whose failure nobody can catch (porsager/postgres#1192): a database that goes away at
 * that moment would end the server. So it is told not to ask, and the arrays we use are declared here.
 */

import { parse } from "postgres-array";
import type { PostgresType } from "#postgres";

/**
 * For the driver's option `types`, by the name of the type. Arrays of others have to be declared here before a
 * statement or a column may have them. The identifiers are fixed by Postgres (src/include/catalog/pg_type.dat).
 */
export const ARRAY_TYPES: Readonly<Record<string, PostgresType>> = {
  "text[]": declare(1009, (element) => element),
  "integer[]": declare(1007, Number),
  "bigint[]": declare(1016, Number),
};

function declare(oid: number, read: (element: string) => unknown): PostgresType {
  return { to: oid, from: [oid], serialize: write, parse: (raw: string) => parse(raw, read) };
}

/**
 * The text of an array of one dimension (PostgreSQL, "Array Input and Output Syntax"). Throws for anything else, which
 * would be stored as a text that nobody has meant: the types of a statement's values do not tell.
 */
function write(elements: readonly unknown[]): string {
  return `{${elements.map(writeElement).join(",")}}`;
}

function writeElement(element: unknown): string {
  if (element === null) return "NULL";
  if (typeof element !== "string" && typeof element !== "number") {
    throw new TypeError(`An array of a statement holds texts, numbers and null; found ${typeof element}.`);
  }
  return `"${String(element).replace(/["\\]/g, "\\$&")}"`;
}
