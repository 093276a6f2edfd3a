/**
 * The starter set: `npm run build` bundles it into dist/runner/packages, one JSON file per package. All are pinned in
 * package.json and run without making code from strings.
 */
import { join } from "node:path";
import { DIST } from "../paths.ts";

export const STARTER_SET = [
  "@cfworker/json-schema",
  "cheerio",
  "date-fns",
  "decimal.js",
  "fast-xml-parser",
  "jose",
  "jszip",
  "lodash-es",
  "marked",
  "mathjs",
  "mustache",
  "papaparse",
  "pdf-lib",
  "yaml",
  "zod",
] as const;

export const STARTER_FOLDER = join(DIST, "packages");

export function starterFile(name: string): string {
  return join(STARTER_FOLDER, `${name.replace("/", "__")}.json`);
}
