/** The client library: docs/client.md. Nothing here needs Node, except a runtime with `local: true`. */
export {
  type ClientOptions,
  type CyrnelClient,
  createClient,
  type FileRecord,
  type ProcessRecord,
  type UploadOptions,
} from "./client.ts";
export { CyrnelError, type ErrorIssue, unwrap } from "./errors.ts";
export type { EndingData, FollowOptions, ProcessEvent, ProcessEventData } from "./events.ts";
export {
  type Decision,
  ElicitationEngine,
  type ElicitationOptions,
  type Gate,
  type GatedTool,
  type PendingElicitation,
} from "./kernel/elicitation.ts";
export type {
  CallContext,
  CallFiles,
  FoundTool,
  IsolationReport,
  LocalExecuteOptions,
  LocalOptions,
  LocalRuntime,
  LocalTool,
  ToolFunction,
  ToolTree,
} from "./kernel/local-model.ts";
export type {
  ExecuteOptions,
  ExecutionResult,
  ExitState,
  LogLine,
  PausedCall,
  RunError,
  Runtime,
  RunUsage,
  RunWarning,
  ToolCallMade,
} from "./kernel/model.ts";
export { buildProxy, type SearchQuery, type ToolNamespace } from "./kernel/proxy.ts";
export type { RemoteRuntime } from "./kernel/remote.ts";
export type { RetryOptions } from "./retry.ts";
export type { RunOptions, WaitOptions } from "./runs.ts";
export { createRuntime } from "./runtime.ts";
export type { components, paths } from "./schema.ts";
export { describeOrigin, visibleJson, visibleText } from "./visible-text.ts";
