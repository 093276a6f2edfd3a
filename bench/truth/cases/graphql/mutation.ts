// A mutation that is not awaited.
// expect {"result": "renamed", "effects": ["rename [\"1\",\"x\"]"], "needs": ["graphql"]}
tools.g.rename({ id: "1", name: "x" });
return "renamed";
