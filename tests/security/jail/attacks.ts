/** Every native attack by the name of what it tries, and what Landlock alone makes of some. */
import { type Attack, EACCES, EPERM } from "./attack.ts";
import { filesAndPaths } from "./attacks-on-files.ts";
import { kernelInterfaces } from "./attacks-on-kernel.ts";
import { network } from "./attacks-on-network.ts";
import { processes } from "./attacks-on-processes.ts";

export const ATTACKS: Readonly<Record<string, Attack>> = {
  ...filesAndPaths,
  ...network,
  ...processes,
  ...kernelInterfaces,
};

/** What Landlock alone, at birth and without any filter, is there to stop; and what it does not reach. */
export const LANDLOCK_ALONE: Readonly<Record<string, readonly number[] | "open">> = {
  "read a file": [EACCES],
  "read a file by openat2": [EACCES],
  "list the root directory": [EACCES],
  "read the server's environment": [EACCES],
  "write the spawner thread's memory": [EACCES],
  "write its own memory past its protection": [EACCES],
  "open a file for writing": [EACCES],
  "make a nameless file": [EACCES],
  "start a program": [EACCES],
  "connect by TCP": [EACCES],
  "listen by TCP": [EACCES],
  "connect to an abstract Unix socket": [EPERM],
  "signal the server": [EPERM],
  "queue a signal for the server": [EPERM],
  "signal the spawner thread": "open",
  "signal another child": "open",
  "send by UDP": "open",
  "connect to a Unix socket by path": "open",
  "change a file's mode": "open",
  "see whether a file exists": "open",
};
