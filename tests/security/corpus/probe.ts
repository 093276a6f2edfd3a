/**
 * What a probe of the escape corpus is: an attack by a script, what it would steal or break, what must be observed
 * instead, and a control: a weaker sandbox in which the same script succeeds, so that a quiet probe means something.
 */
import type { ExecutionReason } from "#sdk";
import type { Bench, Run } from "../../contract/bench.ts";

export interface Probe {
  /** Stable and unique: `<family>.<name>`. */
  id: string;
  /** Loot or damage if the attack worked. */
  steals: string;
  /** Numbers of the list of attacks the corpus started from; absent for the families added to it. */
  entries?: readonly number[];
  script: string;
  options?: Parameters<Bench["run"]>[1];
  observe: Observation;
  control?: Control;
}

/** What must be seen of the run: its reason, or a check of all that was recorded of it. */
export type Observation =
  /** The script collects what it got hold of and returns it: the run succeeds and the list is empty. */
  "no loot" | readonly ExecutionReason[] | ((run: Run, bench: Bench) => Promise<void> | void);

/** The weaker sandbox, and what shows there that the attack works. */
export interface Control {
  in: ControlSandbox;
  shows: ControlSign;
  /** Where the attack needs another script to be seen, e.g. a smaller one. */
  script?: string;
}

export type ControlSandbox =
  /** `vm.createContext` with functions and objects of the host in it, as sandboxes are often built. */
  | "naive-vm"
  /** A context without host objects whose bridge is JavaScript of the script's realm and joins frames from strings. */
  | "naive-bridge"
  /** Node as it is. */
  | "plain-node";

export type ControlSign =
  /** The script's own list of loot is not empty. */
  | "loot"
  /** The host got a frame the script was not given the means to send. */
  | "forged"
  /** An object of the host has a property it never was given. */
  | "polluted"
  /** Still running long after a limited run would have been stopped. */
  | "spins"
  /** Takes several hundred MB and is not stopped. */
  | "grows";

/**
 * Goes before scripts that collect loot. `take` looks at a value: one of another realm is followed to everything it
 * leads to, and what could be called or changed there is loot. What is left of an error whose prototypes were emptied and
 * frozen (its accessors of `stack`, the built-in behind `instanceof`) leads nowhere.
 */
export const COLLECT = String.raw`
const loot = [];
const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
const rootOf = (value) => { let root = value; for (let n = 0; n < 64; n++) { const next = Object.getPrototypeOf(root); if (next === null) break; root = next; } return root; };
const isForeign = (value) => { if (!isObject(value)) return false; let root; try { root = rootOf(value); } catch { return false; } return root !== Object.prototype && (root !== value || typeof value === "function"); };
const attempt = (act) => { try { return act(); } catch (error) { return error; } };
const note = (text) => { if (loot.length < 20 && !loot.includes(text)) loot.push(text); };
const isHarmless = (item, accessors) => item === accessors?.get || item === accessors?.set || item.name === "[Symbol.hasInstance]" || (Object.isFrozen(item) && Reflect.ownKeys(item).every((key) => typeof key === "symbol"));
const take = (name, value) => {
  if (!isForeign(value)) return;
  const seen = new Set(), queue = [value], accessors = Object.getOwnPropertyDescriptor(value, "stack");
  if (/node:|\.c?js\b|\/[a-z]+\//.test(String(attempt(() => value.stack)))) note(name + ": places in the host's own code");
  while (queue.length > 0 && seen.size < 3000) {
    const item = queue.pop();
    if (!isObject(item) || seen.has(item)) continue;
    seen.add(item);
    const prototype = Object.getPrototypeOf(item);
    if (prototype !== null && !Object.isFrozen(prototype)) note(name + ": a prototype of another realm that can be changed");
    if (typeof item === "function" && !isHarmless(item, accessors)) note(name + ": the function " + item.name);
    queue.push(prototype);
    for (const key of Reflect.ownKeys(item)) { const { value, get, set } = Object.getOwnPropertyDescriptor(item, key); queue.push(value, get, set); }
  }
};
const generate = (name, make) => { let got; try { got = make("return typeof process + 1"); if (typeof got === "function") got = got(); } catch (error) { take(name + " (error)", error); return; } if (typeof got === "string") note(name + ": code was made of a string: " + got); };
`;

/** A script that ends with its loot. One line: positions of the attack stay readable. */
export function collecting(attack: string): string {
  return `${COLLECT.replaceAll("\n", " ")}\n${attack}\nreturn loot;`;
}

/** A probe whose script collects loot. */
export function lootProbe(
  probe: Omit<Probe, "observe" | "script"> & { attack: string; observe?: (run: Run, bench: Bench) => void },
): Probe {
  const { attack, observe, control, ...rest } = probe;
  const script = collecting(attack);
  return {
    ...rest,
    script,
    observe: observe ?? "no loot",
    ...(control !== undefined && {
      control: { ...control, ...(control.script !== undefined && { script: collecting(control.script) }) },
    }),
  };
}
