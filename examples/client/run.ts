// Submits a script, shows what it prints as it prints it, and reads the result.
// Run it against a server: CYRNEL_URL=http://127.0.0.1:9371 CYRNEL_API_KEY=… npx node examples/client/run.ts
import { CyrnelError, createClient, unwrap } from "../../client/index.ts";

const { CYRNEL_URL = "http://127.0.0.1:9371", CYRNEL_API_KEY } = process.env;
const client = createClient({ url: CYRNEL_URL, ...(CYRNEL_API_KEY !== undefined && { key: CYRNEL_API_KEY }) });

const script = `
  for (const step of [1, 2, 3]) {
    console.log("step", step);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { steps: 3 };
`;

try {
  const record = await client.run(script, {
    timeoutMs: 10_000,
    signal: AbortSignal.timeout(60_000),
    onEvent: ({ event, data }) => {
      if (event === "stdout") process.stdout.write(data.text);
    },
  });
  console.log(record.exitState, JSON.stringify(record.result), `${Math.round(record.usage.cpuMs)} ms of CPU`);

  // Every route of the API is typed, by the path as docs/openapi.json has it.
  const { processes } = unwrap(await client.GET("/processes", { params: { query: { limit: "5" } } }));
  console.log("latest:", processes.map(({ id, exitState }) => `${id} ${exitState}`).join(", "));
} catch (error) {
  if (!(error instanceof CyrnelError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
