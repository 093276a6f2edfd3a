/** Full tool descriptions. For rules of the `http` adapter they say what scripts may send. */
import { Loaded } from "../parts/failure.tsx";
import { count } from "../parts/format.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Card } from "../parts/layout.tsx";
import { useGet } from "../server/api.ts";

interface Described {
  id: string;
  name: string;
  description: string;
  destructive: boolean;
}

export function Allowed({ title, tools, total }: { title: string; tools: Described[]; total: number }) {
  return (
    <Card title={title}>
      <div class="stack">
        {tools.map(({ id, name, description, destructive }) => (
          <section key={id} class="stack tight">
            <h3 class="row">
              <code>{id}</code>
              {destructive ? <span class="chip bad plain">may change something</span> : null}
            </h3>
            <p class="wrap">
              <Plain text={description || name} />
            </p>
          </section>
        ))}
        {total > tools.length ? <p class="muted">And {count(total - tools.length, "tool")} more.</p> : null}
      </div>
    </Card>
  );
}

/** Shown above the tools of a service whose tools are rules. */
export function AllowedByService({ id, enabled }: { id: string; enabled: boolean }) {
  const tools = useGet("/tools", { params: { query: { serviceId: id, limit: "200" } } });
  const title = enabled ? "Allowed fetch requests" : "Allowed fetch requests, once enabled";
  return (
    <Loaded resource={tools}>
      {({ tools }) => <Allowed title={title} tools={tools} total={tools.length} />}
    </Loaded>
  );
}
