// Walks through an API page by page with fetch, and trusts none of its answers before zod has looked at it. Its input is the
// first address; a rule of a service of the adapter http has to allow it (modules/http/README.md).
// Expected: success; `result` counts pages and items and has the dearest item, stderr names what was left out.
import { z } from "zod";

const Item = z.object({ id: z.int(), name: z.string().min(1), price: z.number().nonnegative() });
const Page = z.object({ items: z.array(z.unknown()), next: z.string().nullable() });
const MAX_PAGES = 20;

const items: z.infer<typeof Item>[] = [];
let pages = 0;
let address: string | null = z.object({ start: z.url() }).parse(cyrnel.input).start;
while (address !== null && pages < MAX_PAGES) {
  const response: Awaited<ReturnType<typeof fetch>> = await fetch(address, { headers: { accept: "application/json" } });
  if (!response.ok) throw new Error(`${address} answered ${response.status} ${response.statusText}`);
  const page = Page.parse(await response.json());
  for (const candidate of page.items) {
    const { success, data, error } = Item.safeParse(candidate);
    if (success) items.push(data);
    else console.error(`page ${pages + 1}: ${z.prettifyError(error).replaceAll("\n", " ")}`);
  }
  pages += 1;
  address = page.next === null ? null : new URL(page.next, address).href;
}

const dearest = items.toSorted((a, b) => b.price - a.price)[0] ?? null;
return { pages, items: items.length, dearest };
