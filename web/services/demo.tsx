/** The demo service: installed, enabled and given a rule to ask before its destructive tool, by one click. */

import { useLocation } from "wouter-preact";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { describeFailure } from "../parts/failure.tsx";
import { FlaskConical } from "../parts/icons.tsx";
import { tell } from "../parts/toasts.tsx";
import { draft, started } from "../runs/draft.ts";
import { client } from "../server/api.ts";

const ID = "demo";
const ASKED_TOOL = "clearBoard";
const SCRIPT = `// The demo keeps a small board of tasks in the server's memory.
const { tasks } = await tools.demo.listTasks({});
console.log(\`\${tasks.length} tasks on the board\`);

const added = await tools.demo.addTask({ title: "Try an approval", points: 2 });
console.log("added", added.id);

// A rule asks a person before this one. Approve it, and the run goes on.
return await tools.demo.clearBoard({ reason: "starting over" });
`;

async function installDemo(): Promise<void> {
  const { services } = unwrap(
    await client.value.GET("/services", { params: { query: { adapter: "demo" } } }),
  );
  if (!services.some(({ id }) => id === ID)) {
    unwrap(await client.value.POST("/services", { body: { id: ID, adapter: "demo", content: "{}" } }));
  }
  unwrap(
    await client.value.POST("/services/{id}/enabled", {
      params: { path: { id: ID } },
      body: { enabled: true },
    }),
  );
  await askBefore(ASKED_TOOL);
}

/** Without the right to make rules, the demo works without one. */
async function askBefore(toolPattern: string): Promise<void> {
  try {
    const { policies } = unwrap(await client.value.GET("/policies", { params: { query: { limit: "200" } } }));
    const isThere = policies.some((rule) => rule.servicePattern === ID && rule.toolPattern === toolPattern);
    if (isThere) return;
    unwrap(
      await client.value.POST("/policies", { body: { servicePattern: ID, toolPattern, decision: "ask" } }),
    );
  } catch (error) {
    tell(`No rule was made: ${describeFailure(error)}`);
  }
}

export function DemoButton({ onFailure }: { onFailure: (error: unknown) => void }) {
  const installing = useAction();
  const [, navigate] = useLocation();
  const install = async () => {
    const isDone = await installing.run(async () => {
      try {
        await installDemo();
      } catch (error) {
        onFailure(error);
        throw error;
      }
    });
    if (!isDone) return;
    draft.value = SCRIPT;
    started.value = null;
    tell("The demo is installed, and a script for it is in the editor.");
    navigate("/run");
  };
  return (
    <button type="button" class="button" disabled={installing.isBusy} onClick={() => void install()}>
      <FlaskConical /> Install the demo
    </button>
  );
}
