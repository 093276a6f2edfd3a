/**
 * Installs and enables the demo service, with a rule that requires approval for its destructive tool, in one click.
 */
import { tell, useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { describeFailure } from "../parts/failure.tsx";
import { editScript } from "../runs/draft.ts";
import { ALL, get, post } from "../server/api.ts";

const ID = "demo";
const ASKED_TOOL = "clearBoard";
const SCRIPT = `// The demo keeps a board of tasks in the server's memory.
const { tasks } = await tools.demo.listTasks({});
console.log(\`\${tasks.length} tasks on the board\`);

const added = await tools.demo.addTask({ title: "Try an approval", points: 2 });
console.log("added", added.id);

// A rule asks for approval before this call. Approve it to continue.
return await tools.demo.clearBoard({ reason: "starting over" });
`;

async function installDemo(): Promise<void> {
  const { services } = await get("/services", { params: { query: { adapter: "demo" } } });
  if (!services.some(({ id }) => id === ID)) {
    await post("/services", { body: { id: ID, adapter: "demo", content: "{}" } });
  }
  await post("/services/{id}/enabled", { params: { path: { id: ID } }, body: { enabled: true } });
  await askBefore(ASKED_TOOL);
}

/** If the key may not create rules, the demo works without one. */
async function askBefore(toolPattern: string): Promise<void> {
  try {
    const { policies } = await get("/policies", ALL);
    const isThere = policies.some((rule) => rule.servicePattern === ID && rule.toolPattern === toolPattern);
    if (!isThere) await post("/policies", { body: { servicePattern: ID, toolPattern, decision: "ask" } });
  } catch (error) {
    tell(`Could not add the rule: ${describeFailure(error)}`);
  }
}

export function DemoButton({ onFailure }: { onFailure: (error: unknown) => void }) {
  const installing = useAction();
  const install = () =>
    installing.run(async () => {
      try {
        await installDemo();
        editScript(SCRIPT);
        tell("Demo installed. Its script is in the editor.");
      } catch (error) {
        onFailure(error);
      }
    });
  return (
    <Button icon="flask-conical" disabled={installing.isBusy} onClick={install}>
      Install the demo
    </Button>
  );
}
