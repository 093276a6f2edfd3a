// Turns CSV text into statistics per group: parse, check, group, compute.
// Bad lines are reported on stderr and left out; they do not stop the run.
// Expected: success; `result` holds one entry per region, stderr names the two bad lines.

const CSV = `
date,region,product,quantity,unit_price
2026-01-04,north,anchor,3,120.50
2026-01-05,south,buoy,10,18.00
2026-01-05,north,"rope, 20 m",7,33.25
2026-01-09,east,anchor,1,120.50
2026-01-11,south,anchor,two,120.50
2026-01-12,north,buoy,4,18.00
2026-01-15,east,"lamp ""Fresnel""",2,249.99
2026-01-16,south,buoy,18.00
2026-01-20,south,"rope, 20 m",5,33.25
`.trim();

interface Sale {
  date: string;
  region: string;
  product: string;
  quantity: number;
  amount: number;
}

/** One CSV line: commas separate, double quotes protect, two double quotes are one. */
function splitLine(line: string): string[] {
  const fields = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...fields].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "");
}

function parseSale(line: string): Sale {
  const fields = splitLine(line);
  if (fields.length !== 5) throw new Error(`expected 5 fields, found ${fields.length}`);
  const [date = "", region = "", product = ""] = fields;
  const [quantity = Number.NaN, price = Number.NaN] = fields.slice(3).map(Number);
  if (!Number.isInteger(quantity)) throw new Error(`quantity is not a whole number: ${fields[3]}`);
  return { date, region, product, quantity, amount: Math.round(quantity * price * 100) / 100 };
}

const sales: Sale[] = [];
for (const [index, line] of CSV.split("\n").entries()) {
  if (index === 0) continue;
  try {
    sales.push(parseSale(line));
  } catch (error) {
    console.error(`line ${index + 1}: ${(error as Error).message}`);
  }
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const regions = Object.entries(Object.groupBy(sales, (sale) => sale.region)).map(([region, group = []]) => {
  const amounts = group.map((sale) => sale.amount);
  const total = amounts.reduce((sum, amount) => sum + amount, 0);
  return {
    region,
    sales: group.length,
    total: Number(total.toFixed(2)),
    median: Number(median(amounts).toFixed(2)),
    best: group.toSorted((a, b) => b.amount - a.amount)[0]!.product,
  };
});
regions.sort((a, b) => b.total - a.total);

console.table(regions);
return { regions, accepted: sales.length };
