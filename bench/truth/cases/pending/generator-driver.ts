// An async generator is consumed by a loop that nobody awaits.
// expect {"result": "reading", "effects": ["put \"item 1.1\"", "put \"item 2.1\"", "put \"item 3.1\""]}
async function* pages() {
  let page: number | null = 1;
  while (page !== null) {
    const { body } = await tools.m.items({ query: { page } });
    yield body.items;
    page = body.next;
  }
}
(async () => {
  for await (const items of pages()) await tools.m.put({ body: { x: items[0].title } });
})();
return "reading";
