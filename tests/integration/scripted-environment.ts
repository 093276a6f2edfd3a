/**
 * A real environment module whose "language" is one small command per line, so that a test can drive a run to exactly
 * the point it wants. Knows nothing of the server beyond the module contract.
 */
import { createHash } from "node:crypto";
import type {
  EnvironmentBindings,
  EnvironmentModule,
  EnvironmentSetupContext,
  EnvironmentStatus,
  ExecutionExitState,
  ExecutionInput,
  ExecutionOutcome,
} from "#sdk";

interface Execution {
  input: ExecutionInput;
  killed: PromiseWithResolvers<void>;
  isKilled: boolean;
  isDeaf: boolean;
  /** Everything asked of the host so far, in the order of issue. */
  calls: LoggedCall[];
  /** Of the execution that is repeated. */
  log: LoggedCall[];
  frozen: PromiseWithResolvers<void> | null;
  /** Between two steps: pending while the script does not come to a halt. */
  halt: PromiseWithResolvers<void> | null;
  diverged: string | null;
}

interface LoggedCall {
  seq: number;
  method: string;
  digest: string;
  /** JSON text of what the script is told; null: not yet. */
  reply: string | null;
}

interface Checkpoint {
  calls: LoggedCall[];
}

const REPORT = {
  level: "development",
  layers: [],
  nodeVersion: process.version,
  platform: "test",
  kernel: "test",
} as const;

/**
 * Can pause as the contract says: what it has asked of the host is the whole of its checkpoint, because nothing else of
 * its language depends on time or chance (but `call-attempt`, which passes how often the process was executed).
 *
 * Commands: `print <text>`, `warn <text>`, `level <debug|warn> <text>` (a line, on the stream of that level), `hex <stdout|stderr> <hex>`, `flood <stdout|stderr> <bytes>`, `output <json>`,
 * `return <json>`, `usage <json>`, `state <queued|running>`, `call <service> <tool> <json>`, `discover`, `look-up <service> <tool>` (all lookups there are), `ask`,
 * `must-call` (fails the script when it fails), `together <json: [service, tool, parameters][]>`, `busy <gate>` (cannot be paused meanwhile),
 * `gate <name>` (until `open(name)`), `sleep <ms>`, `hang`, `deaf` (ignores kill from here), `deep <levels>`,
 * `big-output <bytes>`, `big-return <bytes>`, `error <json>`, `fail <message>`, `end <exit state>`, `outcome <json>` (answers with all of it), `throw`, `not-started <times>`, `nonsense`.
 */
export class ScriptedEnvironment implements EnvironmentModule {
  slots: number;
  limits = { memoryMb: 128, maxMemoryMb: 512 };
  readonly inputs: ExecutionInput[] = [];
  readonly kills: number[] = [];
  maxConcurrent = 0;
  #bindings: EnvironmentBindings | null = null;
  readonly #executions = new Map<number, Execution>();
  readonly attempts = new Map<number, number>();
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  constructor(slots = 4) {
    this.slots = slots;
  }

  get held(): number {
    return this.#executions.size;
  }

  get bindings(): EnvironmentBindings {
    if (!this.#bindings) throw new Error("not set up");
    return this.#bindings;
  }

  async setup(context: EnvironmentSetupContext): Promise<void> {
    this.#bindings = context.bindings;
  }

  async teardown(): Promise<void> {
    this.#bindings = null;
  }

  status(): EnvironmentStatus {
    return {
      slots: this.slots,
      busy: [...this.#executions.values()].filter(({ frozen }) => frozen === null).length,
      warm: 0,
      limits: this.limits,
      isolation: { ...REPORT, layers: [] },
    };
  }

  /** Lets every run pass that waits, or will wait, at the gate. */
  open(name: string): void {
    this.#gate(name).resolve();
  }

  async execute(input: ExecutionInput): Promise<ExecutionExitState | ExecutionOutcome> {
    if (this.#executions.has(input.eid)) throw new Error(`${input.eid} is being executed already`);
    const checkpoint = structuredClone(input.checkpoint) as Checkpoint | undefined;
    const execution: Execution = {
      input,
      killed: Promise.withResolvers(),
      isKilled: false,
      isDeaf: false,
      calls: [],
      log: checkpoint?.calls ?? [],
      frozen: null,
      halt: null,
      diverged: null,
    };
    this.attempts.set(input.eid, (this.attempts.get(input.eid) ?? 0) + 1);
    this.#executions.set(input.eid, execution);
    this.inputs.push(input);
    this.maxConcurrent = Math.max(this.maxConcurrent, this.held);
    try {
      for (const line of input.code.split("\n")) {
        const ended = await this.#perform(execution, line.trim());
        if (execution.diverged !== null) return this.#diverge(execution);
        if (ended) return ended;
        if (execution.isKilled && !execution.isDeaf) return "canceled";
      }
      if (execution.calls.length < execution.log.length) {
        execution.diverged = `request ${execution.calls.length + 1} was not made again`;
        return this.#diverge(execution);
      }
      return "success";
    } finally {
      this.#executions.delete(input.eid);
    }
  }

  async kill(eid: number): Promise<void> {
    this.kills.push(eid);
    const execution = this.#executions.get(eid);
    if (!execution || execution.isDeaf) return;
    execution.isKilled = true;
    execution.killed.resolve();
  }

  async pause(eid: number): Promise<Checkpoint> {
    const execution = this.#executions.get(eid);
    if (!execution) throw new Error(`${eid} is not being executed`);
    await Promise.race([execution.halt?.promise, execution.killed.promise]);
    // A turn of the event loop, like the way to a child and back.
    await new Promise((resolve) => setImmediate(resolve));
    if (execution.isKilled || this.#executions.get(eid) !== execution) throw new Error(`${eid} has ended`);
    execution.frozen ??= Promise.withResolvers();
    return structuredClone({ calls: execution.calls });
  }

  resume(eid: number): void {
    const execution = this.#executions.get(eid);
    execution?.frozen?.resolve();
    if (execution) execution.frozen = null;
  }

  /** One request of the host: answered from the log where that has it; what comes while frozen waits. */
  async #request<T>(
    execution: Execution,
    method: string,
    params: unknown,
    send: (seq: number) => Promise<T>,
  ): Promise<T> {
    const seq = execution.calls.length + 1;
    const digest = createHash("sha256")
      .update(JSON.stringify([method, params]))
      .digest("hex");
    const logged = execution.log[seq - 1];
    const call: LoggedCall = { seq, method, digest, reply: null };
    execution.calls.push(call);
    if (logged && logged.digest !== digest) {
      execution.diverged = `request ${seq} is another one`;
      throw new Error(execution.diverged);
    }
    if (logged?.reply != null) call.reply = logged.reply;
    else {
      call.reply = await send(seq).then(
        (value) => JSON.stringify({ value: value ?? null }),
        ({ name, message, code, status }) => JSON.stringify({ error: { name, message, code, status } }),
      );
    }
    while (execution.frozen)
      await Promise.race([
        execution.frozen.promise,
        execution.killed.promise.then(() => new Promise(() => {})),
      ]);
    const { value, error } = JSON.parse(call.reply) as { value: T; error?: { message: string } };
    if (error) throw Object.assign(new Error(error.message), error);
    return value;
  }

  #diverge(execution: Execution): ExecutionExitState {
    this.bindings.setError(execution.input.eid, {
      name: "ReplayError",
      message: execution.diverged ?? "",
      reason: "replay_divergence",
    });
    return "failed";
  }

  async generateDocs(): Promise<string> {
    return "# Scripted";
  }

  async generateToolDocs(): Promise<string> {
    return "# Tool";
  }

  #gate(name: string): PromiseWithResolvers<void> {
    let gate = this.#gates.get(name);
    if (!gate) {
      gate = Promise.withResolvers();
      this.#gates.set(name, gate);
    }
    return gate;
  }

  async #perform(
    execution: Execution,
    line: string,
  ): Promise<ExecutionExitState | ExecutionOutcome | undefined> {
    const { eid } = execution.input;
    const { bindings } = this;
    const [command = "", ...words] = line.split(" ");
    const rest = words.join(" ");
    const [first = "", second = ""] = words;
    const emit = (stream: string, data: Buffer) =>
      stream === "stdout" ? bindings.emitStdout(eid, data) : bindings.emitStderr(eid, data);
    const wait = async (until: Promise<unknown>) => {
      await (execution.isDeaf ? until : Promise.race([until, execution.killed.promise]));
      return undefined;
    };
    switch (command) {
      case "":
        return undefined;
      case "print":
        emit("stdout", Buffer.from(`${rest}\n`));
        return undefined;
      case "warn":
        emit("stderr", Buffer.from(`${rest}\n`));
        return undefined;
      case "level": {
        const line = Buffer.from(`${words.slice(1).join(" ")}\n`);
        if (first === "debug") bindings.emitStdout(eid, line, "debug");
        else bindings.emitStderr(eid, line, "warn");
        return undefined;
      }
      case "hex":
        emit(first, Buffer.from(second, "hex"));
        return undefined;
      case "flood":
        for (let sent = 0; sent < Number(second); sent += 1000) emit(first, Buffer.alloc(1000, "x"));
        return undefined;
      case "output":
        bindings.emitOutput(eid, JSON.parse(rest) as Record<string, unknown>);
        return undefined;
      case "big-output":
        bindings.emitOutput(eid, { big: "x".repeat(Number(first)) });
        return wait(new Promise(() => {}));
      case "big-return":
        bindings.setResult(eid, "x".repeat(Number(first)));
        return undefined;
      case "deep":
        bindings.setResult(eid, JSON.parse("[".repeat(Number(first)) + "]".repeat(Number(first))));
        return undefined;
      case "return":
        bindings.setResult(eid, JSON.parse(rest));
        return undefined;
      case "usage":
        bindings.setUsage(eid, JSON.parse(rest) as object);
        return undefined;
      case "state":
        bindings.setState(eid, first as "queued" | "running");
        return undefined;
      case "call":
        await wait(this.#call(execution, first, second, words.slice(2).join(" ")));
        return undefined;
      case "call-in-background":
        void this.#call(execution, first, second, words.slice(2).join(" "));
        return undefined;
      case "call-attempt":
        await wait(this.#call(execution, first, second, `{"attempt":${this.attempts.get(eid)}}`));
        return undefined;
      case "together": {
        const calls = JSON.parse(rest) as [string, string, unknown][];
        await wait(
          Promise.all(
            calls.map(([service, tool, given]) =>
              this.#call(execution, service, tool, JSON.stringify(given)),
            ),
          ),
        );
        return undefined;
      }
      case "must-call": {
        let failure: Error | undefined;
        await wait(
          this.#invoke(execution, first, second, words.slice(2).join(" ")).catch((error: Error) => {
            failure = error;
          }),
        );
        if (!failure || execution.isKilled) return undefined;
        bindings.setError(eid, { name: failure.name, message: failure.message });
        return "failed";
      }
      case "busy":
        execution.halt = Promise.withResolvers();
        await wait(this.#gate(first).promise);
        execution.halt.resolve();
        execution.halt = null;
        return undefined;
      case "discover":
        bindings.setResult(eid, [
          await bindings.discoverServices(),
          await bindings.discoverTools({ query: "x" }),
        ]);
        return undefined;
      case "look-up": {
        const [tool, context] = [{ serviceId: first, toolId: second }, { eid }];
        await bindings.discoverServices({}, context);
        await bindings.discoverTools({ query: second }, context);
        await bindings.getService(first, context);
        await bindings.getTool(tool, context);
        await bindings.getToolDocs(tool, context);
        return undefined;
      }
      case "ask": {
        const question = rest.startsWith("{")
          ? (JSON.parse(rest) as { message: string; schema?: Record<string, unknown> })
          : { message: rest };
        await wait(
          this.#request(execution, "ask", question, (seq) =>
            bindings.ask(eid, question, { seq, signal: new AbortController().signal }),
          ).then(
            (answer) => emit("stdout", Buffer.from(`${JSON.stringify(answer)}\n`)),
            (error: Error) => emit("stdout", Buffer.from(error.message)),
          ),
        );
        return undefined;
      }
      case "gate":
        return wait(this.#gate(first).promise);
      case "sleep":
        return wait(new Promise((resolve) => setTimeout(resolve, Number(first))));
      case "hang":
        return wait(new Promise(() => {}));
      case "deaf":
        execution.isDeaf = true;
        return undefined;
      case "error":
        bindings.setError(eid, JSON.parse(rest) as string);
        return undefined;
      case "fail":
        bindings.setError(eid, rest);
        return "failed";
      case "end":
        return first as ExecutionExitState;
      case "outcome":
        return JSON.parse(rest) as ExecutionOutcome;
      case "throw":
        throw new Error("a secret inside of the environment");
      case "not-started":
        if ((this.attempts.get(eid) ?? 0) > Number(first)) return undefined;
        throw Object.assign(new Error("spawn node EAGAIN"), { code: "not_started" });
      case "nonsense":
        return "banana" as ExecutionExitState;
      default:
        bindings.setError(eid, {
          name: "SyntaxError",
          message: `unknown command ${command}`,
          reason: "syntax_error",
        });
        return "failed";
    }
  }

  async #call(execution: Execution, serviceId: string, toolId: string, parameters: string): Promise<void> {
    const { eid } = execution.input;
    const print = (text: string) => this.bindings.emitStdout(eid, Buffer.from(text));
    try {
      const value = await this.#invoke(execution, serviceId, toolId, parameters);
      print(`${JSON.stringify(value)}\n`);
    } catch (error) {
      const { name, message, code } = error as Error & { code?: string };
      print(`${name} ${code}: ${message}\n`);
    }
  }

  #invoke(execution: Execution, serviceId: string, toolId: string, text: string): Promise<unknown> {
    const parameters = JSON.parse(text || "{}") as Record<string, unknown>;
    const { eid } = execution.input;
    return this.#request(execution, "invoke", [serviceId, toolId, parameters], (seq) =>
      this.bindings.invokeTool({ eid, seq, serviceId, toolId, parameters }),
    );
  }
}
