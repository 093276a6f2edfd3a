// HTTP 404 that the document declares, in a list of ids.
// expect {"fails": "404|no user 9"}
const names: string[] = [];
for (const id of [1, 9]) names.push((await tools.m.user({ path: { id } })).body.name);
return names;
