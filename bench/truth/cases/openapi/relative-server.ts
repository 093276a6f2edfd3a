// A server relative to the document.
// expect {"result": 12, "needs": ["openapi"]}
return (await (tools.odd as any)[Object.keys({ "same-name": 1 })[0]!.replace("-", "_")]({})).body.n;
