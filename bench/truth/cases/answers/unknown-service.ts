// A service that does not exist.
// expect {"fails": "nope|no service|not found|undefined"}
await (tools as any).nope.list({});
return 1;
