// Turns the file sales.csv of the workspace into a report of one page, report.pdf: papaparse reads, pdf-lib writes.
// Lines that do not add up are reported on stderr and left out.
// Expected: success; the artifact report.pdf, and `result` with the total of each region.
import Papa from "papaparse";
import { PDFDocument, StandardFonts } from "pdf-lib";

interface Line {
  region: string;
  quantity: string;
  unit_price: string;
}

const { data } = Papa.parse<Line>(await cyrnel.files.text("sales.csv"), {
  header: true,
  skipEmptyLines: true,
});
const totals = new Map<string, number>();
for (const [index, { region, quantity, unit_price }] of data.entries()) {
  const amount = Number(quantity) * Number(unit_price);
  if (Number.isFinite(amount)) totals.set(region, (totals.get(region) ?? 0) + amount);
  else console.error(`sales.csv:${index + 2}: ${quantity} × ${unit_price} is no amount`);
}
const rows = [...totals].sort(([, a], [, b]) => b - a);

const pdf = await PDFDocument.create();
const font = await pdf.embedFont(StandardFonts.Helvetica);
const bold = await pdf.embedFont(StandardFonts.HelveticaBold);
const page = pdf.addPage([595, 842]);
page.drawText("Sales by region", { x: 60, y: 760, size: 20, font: bold });
for (const [index, [region, total]] of rows.entries()) {
  const amount = total.toFixed(2);
  const y = 720 - index * 20;
  page.drawText(region, { x: 60, y, size: 12, font });
  // To the right edge of the column.
  page.drawText(amount, { x: 300 - font.widthOfTextAtSize(amount, 12), y, size: 12, font });
}
await cyrnel.files.write("report.pdf", await pdf.save());

return Object.fromEntries(rows.map(([region, total]) => [region, Number(total.toFixed(2))]));
