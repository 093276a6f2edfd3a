/**
 * A preparer: a process that parses sources for the server, one job after another, and never executes them. The
 * server ends it when a job takes too long (pool.ts). Built into one file (build/runner.ts).
 */
import { subscribe } from "node:diagnostics_channel";
import { prepareFile } from "../source/modules/file.ts";
import { linkGraph } from "../source/modules/link.ts";
import { prepareScript } from "../source/script.ts";
import { transpile } from "../source/transpile.ts";
import type { Answers, Job, Message } from "./pool.ts";

function work(job: Job): Promise<Answers[Job["kind"]]> | Answers["link"] {
  switch (job.kind) {
    case "script":
      return prepareScript(job.text);
    case "file":
      return prepareFile(job.loader, job.text);
    case "link":
      return linkGraph(job.nodes);
  }
}

function send(message: Message): void {
  process.send?.(message);
}

/** esbuild's message after its process has ended, which makes this preparer useless. */
const IS_LOST = /The service (?:was stopped|is no longer running)/;

process.title = "cyrnel-preparer";

let transpiler = 0;
subscribe("child_process", (message) => {
  const { process: started } = message as {
    process: { pid?: number; once(event: "spawn", run: () => void): void };
  };
  started.once("spawn", () => {
    transpiler = started.pid ?? 0;
  });
});
process.on("disconnect", () => process.exit());
process.on("message", async (job: Job) => {
  try {
    send({ answer: await work(job) });
  } catch (error) {
    if (IS_LOST.test(String(error))) process.exit(1);
    send({ fault: String((error as Error).stack) });
  }
});
// Starts the transpiler and compiles what every job needs.
await transpile("");
send({ transpiler });
