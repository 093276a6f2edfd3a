// A reference that leads nowhere leaves out one operation, and says so.
// expect {"effects": [], "fails": "dangling", "needs": ["openapi"]}
return (await (tools.odd as any).dangling({})).body;
