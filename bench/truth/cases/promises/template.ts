// A promise in a template: the text says so.
// expect {"result": "row: [object Promise]"}
const row = Promise.resolve(12);
return `row: ${row}`;
