/**
 * Precedes hunting scripts: counts only the host's secret as loot. The collector has the names of the corpus's own
 * (tests/security/corpus/probe.ts), so attacks of the corpus run after it unchanged.
 */
import { SPELLED } from "./world.ts";

/** Returns code that finds the secret wherever it can reach an interface of Node or Deno. */
function payload(folder: string): string {
  const file = JSON.stringify(`${folder}/secret.txt`);
  const ways = [
    "process.env.SECRET",
    `process.getBuiltinModule("fs").readFileSync(${file}, "utf8")`,
    `require("fs").readFileSync(${file}, "utf8")`,
    `process.mainModule.require("fs").readFileSync(${file}, "utf8")`,
    `Deno.readTextFileSync(${file})`,
  ];
  return `const found = []; ${ways.map((way) => `try { found.push(${way}); } catch {}`).join(" ")} return found.join();`;
}

const NAMES =
  "console setTimeout setInterval setImmediate clearTimeout queueMicrotask structuredClone fetch URL URLSearchParams TextEncoder TextDecoder AbortController AbortSignal Event CustomEvent EventTarget DOMException crypto CryptoKey performance atob btoa Temporal";

/** Returns a single line, so that the attack keeps its line numbers. */
export function collectSecret(folder: string): string {
  return `
const loot = [], SECRET_TEXT = ${SPELLED}, PAYLOAD = ${JSON.stringify(payload(folder))};
for (const name of ${JSON.stringify(NAMES.split(" "))}) if (!(name in globalThis)) try { globalThis[name] = undefined; } catch {}
const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
const attempt = (act) => { try { return act(); } catch (error) { return error; } };
const note = (text) => { try { if (loot.length < 3 && String(text).includes(SECRET_TEXT)) loot.push(SECRET_TEXT); } catch {} };
const tryCall = (act) => { try { const got = act(); if (typeof got === "string") note(got); return got; } catch { return undefined; } };
let looked = 0;
const take = (name, value) => {
  const seen = new Set(), queue = [value];
  while (queue.length > 0 && seen.size < 300 && looked < 3000) {
    const item = queue.pop();
    if (!isObject(item) || seen.has(item)) continue;
    seen.add(item); looked++;
    tryCall(() => item.constructor.constructor(PAYLOAD)());
    if (typeof item === "function") tryCall(() => item.constructor(PAYLOAD)());
    tryCall(() => item.readFileSync(${JSON.stringify(`${folder}/secret.txt`)}, "utf8"));
    tryCall(() => item.getBuiltinModule("fs").readFileSync(${JSON.stringify(`${folder}/secret.txt`)}, "utf8"));
    tryCall(() => item.env.SECRET);
    try { queue.push(Object.getPrototypeOf(item)); for (const key of Reflect.ownKeys(item).slice(0, 60)) { const { value, get, set } = Object.getOwnPropertyDescriptor(item, key); queue.push(value, get, set); } } catch {}
  }
};
const generate = (name, make) => { let got; try { got = make(PAYLOAD); if (typeof got === "function") got = got(); } catch (error) { take(name, error); return; } if (typeof got === "string") note(got); else take(name, got); };
`.replaceAll("\n", " ");
}
