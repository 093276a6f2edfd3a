/** Whether the formatter of `console` is at work: only then do the nodes of `tools` tell their path. */
export const inspection = { active: false };
