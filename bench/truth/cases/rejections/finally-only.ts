// finally does not catch.
// expect {"fails": "404|no such row"}
let closed = false;
await tools.m.gone({}).finally(() => {
  closed = true;
});
return closed;
