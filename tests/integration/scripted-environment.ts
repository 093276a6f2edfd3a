/**
 * A real environment module whose "language" is one small command per line, so that a test can drive a run to exactly
 * the point it wants. Knows nothing of the server beyond the module contract.
 */
import type {
  EnvironmentBindings,
  EnvironmentModule,
  EnvironmentSetupContext,
  EnvironmentStatus,
  ExecutionExitState,
  ExecutionInput,
} from "#sdk";

interface Execution {
  input: ExecutionInput;
  killed: PromiseWithResolvers<void>;
  isKilled: boolean;
  isDeaf: boolean;
}

const REPORT = {
  level: "development",
  layers: [],
  nodeVersion: process.version,
  platform: "test",
  kernel: "test",
} as const;

/**
 * Commands: `print <text>`, `warn <text>`, `hex <stdout|stderr> <hex>`, `flood <stdout|stderr> <bytes>`, `output <json>`,
 * `return <json>`, `usage <json>`, `state <queued|running>`, `call <service> <tool> <json>`, `discover`, `ask`,
 * `gate <name>` (until `open(name)`), `sleep <ms>`, `hang`, `deaf` (ignores kill from here), `deep <levels>`,
 * `big-output <bytes>`, `big-return <bytes>`, `error <json>`, `fail <message>`, `end <exit state>`, `throw`, `nonsense`.
 */
export class ScriptedEnvironment implements EnvironmentModule {
  slots: number;
  limits = { memoryMb: 128, maxMemoryMb: 512 };
  readonly inputs: ExecutionInput[] = [];
  readonly kills: number[] = [];
  maxConcurrent = 0;
  #bindings: EnvironmentBindings | null = null;
  readonly #executions = new Map<number, Execution>();
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
      busy: this.held,
      warm: 0,
      limits: this.limits,
      isolation: { ...REPORT, layers: [] },
    };
  }

  /** Lets every run pass that waits, or will wait, at the gate. */
  open(name: string): void {
    this.#gate(name).resolve();
  }

  async execute(input: ExecutionInput): Promise<ExecutionExitState> {
    const execution: Execution = { input, killed: Promise.withResolvers(), isKilled: false, isDeaf: false };
    this.#executions.set(input.eid, execution);
    this.inputs.push(input);
    this.maxConcurrent = Math.max(this.maxConcurrent, this.held);
    try {
      for (const line of input.code.split("\n")) {
        const ended = await this.#perform(execution, line.trim());
        if (ended) return ended;
        if (execution.isKilled && !execution.isDeaf) return "canceled";
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

  async #perform(execution: Execution, line: string): Promise<ExecutionExitState | undefined> {
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
        await this.#call(eid, first, second, words.slice(2).join(" "));
        return undefined;
      case "call-in-background":
        void this.#call(eid, first, second, words.slice(2).join(" "));
        return undefined;
      case "discover":
        bindings.setResult(eid, [
          await bindings.discoverServices(),
          await bindings.discoverTools({ query: "x" }),
        ]);
        return undefined;
      case "ask":
        await bindings
          .ask(eid, { message: rest })
          .catch((error: Error) => emit("stdout", Buffer.from(error.message)));
        return undefined;
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
      case "throw":
        throw new Error("a secret inside of the environment");
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

  async #call(eid: number, serviceId: string, toolId: string, parameters: string): Promise<void> {
    try {
      const value = await this.bindings.invokeTool({
        eid,
        serviceId,
        toolId,
        parameters: JSON.parse(parameters || "{}") as Record<string, unknown>,
      });
      this.bindings.emitStdout(eid, Buffer.from(`${JSON.stringify(value)}\n`));
    } catch (error) {
      const { name, message, code } = error as Error & { code?: string };
      this.bindings.emitStdout(eid, Buffer.from(`${name} ${code}: ${message}\n`));
    }
  }
}
