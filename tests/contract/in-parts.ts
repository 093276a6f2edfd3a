/** An environment may answer with a whole outcome, or report its parts before: tests that record reports see both. */
import type {
  EnvironmentBindings,
  EnvironmentModule,
  ExecutionExitState,
  ExecutionInput,
  RunWarning,
} from "#sdk";

/**
 * The environment with the parts of its outcomes reported, so that `execute` answers with the exit state alone. No binding takes
 * warnings: `onWarnings` does.
 */
export function inParts<M extends EnvironmentModule>(
  module: M,
  onWarnings?: (eid: number, warnings: readonly RunWarning[]) => void,
): Omit<M, "execute"> & { execute(input: ExecutionInput): Promise<ExecutionExitState> } {
  let bindings: EnvironmentBindings | null = null;
  return {
    ...module,
    setup(context) {
      bindings = context.bindings;
      return module.setup(context);
    },
    async execute(input) {
      const answer = await module.execute(input);
      if (typeof answer === "string") return answer;
      const { exitState, error, usage, warnings, ...rest } = answer;
      if (warnings !== undefined) onWarnings?.(input.eid, warnings);
      if (usage !== undefined) bindings?.setUsage(input.eid, usage);
      if (error !== undefined) bindings?.setError(input.eid, error);
      if ("result" in rest) bindings?.setResult(input.eid, rest.result);
      return exitState;
    },
  };
}
