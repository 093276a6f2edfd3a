// Has a tool save its answer as a file without looking at it, reads that with node:fs, and writes a report with what two source
// files of its own export. `tools.orders` is the API of docs/tutorial.md, installed and given its key as there.
// Expected: success; the artifact out/report.md alone, and `result` with the value of the orders of each status.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { toMarkdown } from "./order-report/markdown.ts";
import { sumByStatus } from "./order-report/totals.ts";

const SAVED = "in/orders.json";
const { body: saved } = await tools.orders.listOrders({}, { saveAs: SAVED });
console.log(`${saved.file}: ${saved.size} bytes, ${saved.contentType}`);

const totals = sumByStatus(JSON.parse(readFileSync(SAVED, "utf8")));
// What a call saved would be an artifact too.
rmSync(SAVED);
mkdirSync("out", { recursive: true });
writeFileSync("out/report.md", toMarkdown("Orders by status", totals));

return Object.fromEntries(totals.map(({ status, value }) => [status, value]));
