// A text of 5 MB as a parameter.
// expect {"fails": "bytes|large|limit|MB", "ok": true}
await tools.m.put({ body: { x: "x".repeat(5_000_000) } });
return 1;
