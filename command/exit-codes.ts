/** What a command ends with. 69, 77 and 78 are those of sysexits.h. */
export const EXIT = {
  ok: 0,
  /** The script failed; or what was asked for was refused or is not there. */
  failed: 1,
  /** The command line, or what it names, cannot be used. */
  usage: 2,
  timeout: 3,
  /** Of memory or CPU time. */
  limit: 4,
  violation: 5,
  canceled: 6,
  /** The server cannot be reached, or cannot do it now. */
  unavailable: 69,
  /** The key is missing, wrong, or lacks a scope. */
  notAllowed: 77,
  /** The isolation that was asked for cannot be had; or the server's settings are wrong. */
  isolation: 78,
  /** 128 and the number of the signal, as shells say it. */
  interrupted: 130,
  brokenPipe: 141,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Which exit code the ending of a run is. */
export function exitCodeOfRun({
  exitState,
  reason,
}: {
  exitState: string | null;
  reason: string | null;
}): ExitCode {
  switch (exitState) {
    case "success":
      return EXIT.ok;
    case "timeout":
      return EXIT.timeout;
    case "canceled":
      return EXIT.canceled;
    default:
      break;
  }
  switch (reason) {
    case "memory_limit":
    case "cpu_limit":
      return EXIT.limit;
    case "sandbox_violation":
      return EXIT.violation;
    default:
      return EXIT.failed;
  }
}
