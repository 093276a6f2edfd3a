/**
 * Entry of the bundle: defines a script's globals in the context that evaluates it, and returns the functions in
 * README.md to the embedder.
 */

import { createCyrnel } from "./host/cyrnel.ts";
import { toolsGlobal } from "./host/tools.ts";
import { connectPackages, importError, preload } from "./imports.ts";
import { giveUpJournal } from "./journal.ts";
import { lazyGlobals } from "./lazy-globals.ts";
import { receive, takeTurn } from "./messages.ts";
import { allowWaitingOnItsOwn, fail } from "./outcome.ts";
import {
  defineHidden,
  ObjectDefineProperty,
  ObjectFreeze,
  ObjectKeys,
  ReflectDeleteProperty,
} from "./primordials.ts";
import { consoleGlobal } from "./printing/console.ts";
import { installClock, installRandom } from "./replayable.ts";
import { connect } from "./sending.ts";
import { lockStacks } from "./stacks.ts";
import { timerGlobals } from "./timers.ts";
import { recordHandled, recordRejection } from "./unawaited.ts";

/** Built-ins of a context that a script must not have. */
const REMOVED = ["SharedArrayBuffer", "Atomics"];

export function install(
  emit: (text: string) => string | undefined,
  allowWasm: unknown,
  openPackage: (text: string) => unknown,
): object {
  connect(emit);
  connectPackages(openPackage);
  lockStacks();
  for (let index = 0; index < REMOVED.length; index++)
    ReflectDeleteProperty(globalThis, REMOVED[index] as string);
  if (allowWasm === true) {
    allowWaitingOnItsOwn();
    // Work in the engine's threads completes in no reproducible order.
    giveUpJournal();
  } else ReflectDeleteProperty(globalThis, "WebAssembly");
  ReflectDeleteProperty(Object.prototype, "__proto__");
  installClock();
  installRandom();
  defineAll(timerGlobals);
  defineAll(lazyGlobals);
  defineHidden(globalThis, "console", consoleGlobal);
  defineFixed("tools", toolsGlobal);
  defineFixed("cyrnel", createCyrnel());
  return ObjectFreeze({
    __proto__: null,
    receive,
    turn: takeTurn,
    reject: recordRejection,
    handled: recordHandled,
    fail: (reason: unknown) => fail(reason),
    importError,
    preload,
  });
}

function defineAll(members: object): void {
  const keys = ObjectKeys(members);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    const descriptor = Object.getOwnPropertyDescriptor(members, key) as PropertyDescriptor;
    descriptor.enumerable = false;
    ObjectDefineProperty(globalThis, key, descriptor);
  }
}

function defineFixed(key: string, value: unknown): void {
  ObjectDefineProperty(globalThis, key, { __proto__: null, value } as PropertyDescriptor);
}
