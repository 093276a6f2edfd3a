/** Markdown for the authors of scripts: what they may use, and how a tool is called. */
import type { ToolDocsInput } from "@cyrnel/sdk";
import type { Config } from "./index.mts";

export function describeEnvironment(settings: Config, version: string): string {
  return `# Python in a process

Scripts are Python ${version}. Each one runs in a process of its own that is killed at its end.
**There is no sandbox**: a script can do whatever the server's user can do.

\`\`\`python
issues = tools.tracker.list_issues(state="open")   # or a dict: list_issues({"state": "open"})
print(len(issues), "open issues")
cyrnel.output({"count": len(issues)})
return [issue["title"] for issue in issues]
\`\`\`

- A script ends with \`return value\`, or by leaving a variable \`result\`: that is the result of the run, as JSON.
- \`tools.<service>.<tool>(…)\` calls a tool and waits. Calls of several threads run side by side
  (\`concurrent.futures.ThreadPoolExecutor\`). A failure raises \`ToolError\` with \`name\`, \`code\` and \`status\`.
- \`cyrnel.output(dict)\`, \`cyrnel.discover_services(query=…)\`, \`cyrnel.discover_tools(query=…)\`,
  \`cyrnel.get_service(id)\`, \`cyrnel.get_tool(service, tool)\`, \`cyrnel.get_tool_docs(service, tool)\`,
  \`cyrnel.ask(message, schema=None)\`, \`cyrnel.process\` (\`{"id", "ref"}\`).
- The standard library is there, and what is installed in this Python.
- Limits: ${settings.memoryMb} MB of address space (up to ${settings.maxMemoryMb} on demand), ${settings.maxCalls} tool calls,
  ${settings.maxConcurrency} runs at once. CPU limits count in whole seconds, rounded up. The time-out goes on while a call
  waits for an approval.
`;
}

export function describeTool({
  serviceId,
  toolId,
  description,
  inputSchema,
  outputSchema,
}: ToolDocsInput): string {
  const json = (schema: object) => `\`\`\`json\n${JSON.stringify(schema, null, 2)}\n\`\`\``;
  return `# ${serviceId}.${toolId}

${description}

\`\`\`python
answer = tools.${serviceId}.${toolId}({…})
\`\`\`

Parameters:

${json(inputSchema)}

Answer:

${json(outputSchema)}
`;
}
