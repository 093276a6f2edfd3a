// Two services joined.
// expect {"result": [{"title": "item 1.1", "owner": "user 1"}, {"title": "item 1.2", "owner": "user 2"}]}
const { body } = await tools.m.items({});
return Promise.all(
  body.items.map(async (item, index) => ({
    title: item.title,
    owner: (await tools.m.user({ path: { id: index + 1 } })).body.name,
  })),
);
