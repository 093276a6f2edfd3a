// Calls in branches of a switch.
// expect {"result": "handled", "effects": ["put \"b\""]}
const kind = "b" as string;
switch (kind) {
  case "a":
    await tools.m.put({ body: { x: "a" } });
    break;
  case "b":
    tools.m.put({ body: { x: "b" } });
    break;
}
return "handled";
