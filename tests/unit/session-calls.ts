/** Calls that answer with their own parameters. */
import type { CallHandlers } from "#runner/host/calls/calls.ts";

const echo = async (params: unknown) => params;

export const CALL_METHODS_FOR_TESTS: CallHandlers = {
  invoke: echo,
  discoverServices: echo,
  discoverTools: echo,
  getService: echo,
  getTool: echo,
  getToolDocs: echo,
  ask: echo,
  readFile: echo,
  writeFile: echo,
  removeFile: echo,
  copyFile: echo,
  resizeFile: echo,
};
