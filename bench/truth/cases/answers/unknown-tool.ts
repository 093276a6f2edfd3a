// A tool that does not exist.
// expect {"fails": "putt|no tool|not a tool|not found|not a function"}
await (tools.m as any).putt({ body: { x: 1 } });
return 1;
