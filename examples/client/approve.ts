// Runs a script on a server and decides about the calls it waits for. The key needs processes:write, processes:read and
// approvals:decide, and the server CYRNEL_ALLOW_SELF_APPROVAL=true: otherwise somebody else has to decide.
// Run it: CYRNEL_URL=… CYRNEL_API_KEY=… npx node examples/client/approve.ts 'return await tools.shop.remove({ name: "rope" })'
import { createRuntime } from "../../client/index.ts";

const { CYRNEL_URL = "http://127.0.0.1:9371", CYRNEL_API_KEY } = process.env;
const [script = "return 'nothing to do'"] = process.argv.slice(2);

await using runtime = createRuntime({ url: CYRNEL_URL, ...(CYRNEL_API_KEY !== undefined && { key: CYRNEL_API_KEY }) });
await runtime.ready();
console.log("tools:", runtime.availableTools().join(" "));

let result = await runtime.execute(script);
while (result.paused) {
  const { executionId, toolPath, args } = result.paused;
  console.log(`${toolPath} ${JSON.stringify(args)}? yes`);
  result = await runtime.resolve(executionId, true);
}
console.log(result.exitState, JSON.stringify(result.value));
