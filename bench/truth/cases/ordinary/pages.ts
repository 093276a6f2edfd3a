// Pages of a list.
// expect {"result": ["item 1.1", "item 2.1", "item 3.1"]}
const open: string[] = [];
let page: number | null = 1;
while (page !== null) {
  const { body } = await tools.m.items({ query: { page } });
  for (const item of body.items) if (!item.done) open.push(item.title);
  page = body.next;
}
return open;
