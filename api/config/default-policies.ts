/** Decisions available for tool calls that no rule matches. */
export const DEFAULT_POLICIES = ["allow", "ask-destructive", "ask", "block"] as const;
export type DefaultPolicy = (typeof DEFAULT_POLICIES)[number];
