// Runs a script in this program's own sandbox, without a server: functions of this file are its tools, and a person
// (here: a line of code) is asked before the destructive one is called.
// Run it: npm run build && npx node examples/client/local.ts
import { createRuntime, ElicitationEngine } from "../../client/index.ts";

const stock = new Map([
  ["tea", 3],
  ["rope", 0],
]);

await using runtime = createRuntime({
  local: true,
  // A strict wall needs a Linux kernel that has it: without this line nothing runs where it cannot be had.
  isolation: "development",
  elicitation: new ElicitationEngine(),
  role: { allow: ["shop.*"] },
  tools: [
    { path: "shop.list", description: "Names and numbers of what is in stock.", invoke: () => [...stock] },
    {
      path: "shop.remove",
      description: "Takes an article off the shelves.",
      destructive: true,
      inputSchema: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
      invoke: ({ name }: { name: string }) => stock.delete(name),
    },
  ],
});

let result = await runtime.execute(`
  const empty = (await tools.shop.list()).filter(([, count]) => count === 0);
  for (const [name] of empty) await tools.shop.remove({ name });
  return empty.length;
`);
while (result.paused) {
  const { executionId, toolPath, args } = result.paused;
  console.log(`${toolPath} ${JSON.stringify(args)}? yes`);
  result = await runtime.resolve(executionId, true);
}
console.log(result.exitState, result.value, [...stock.keys()].join(" "));
