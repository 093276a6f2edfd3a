/**
 * The starter set: `npm run build` bundles it into runner/dist/packages, one JSON file for each package. All are
 * pinned in package.json and run without making code from strings.
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

/** Where the build writes them, one JSON file each (BundledPackage). */
export const STARTER_FOLDER = join(DIST, "packages");

export function starterFile(name: string): string {
  return join(STARTER_FOLDER, `${name.replace("/", "__")}.json`);
}
