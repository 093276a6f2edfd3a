import { AdapterFailure, quoteForeign } from "#modules/shared/failures.ts";

export type FailureCode =
  | "graphql_bad_answer"
  | "graphql_bad_definition"
  | "graphql_bad_parameters"
  | "graphql_bad_settings"
  | "graphql_canceled"
  | "graphql_error"
  | "graphql_refused"
  | "graphql_timeout"
  | "graphql_too_large"
  | "graphql_unreachable"
  | "http_error";

export class GraphqlFailure extends AdapterFailure<FailureCode> {
  override readonly name = "GraphqlFailure";
}

export const refuseSettings = (problem: string) => new GraphqlFailure("graphql_bad_settings", problem);

const MAX_MESSAGE_CHARACTERS = 2000;

export function messageOf(error: unknown): string {
  if (error instanceof RangeError && /call stack/i.test(error.message)) return "it is nested too deeply";
  return quoteForeign(error instanceof Error ? error.message : String(error), MAX_MESSAGE_CHARACTERS);
}
