/**
 * Takes `eval` and the `Function` constructors out of an isolate. The library always answers V8's question whether
 * code may be made from strings with yes, so the flag `--disallow-code-generation-from-strings` has no effect in its
 * isolates. Evaluated in the isolate before the realm: a script never sees the originals.
 */

/** JavaScript to put before the realm. Its completion value is that of what follows. */
export const DISABLE_EVAL = `(() => {
  'use strict';
  const { defineProperty, getPrototypeOf, setPrototypeOf } = Object;
  const EvalErrorOfRealm = EvalError;
  const refuse = () => {
    throw new EvalErrorOfRealm('Code generation from strings disallowed for this context');
  };
  const replace = (sample, make) => {
    const prototype = getPrototypeOf(sample);
    const { name } = prototype.constructor;
    const replacement = make();
    defineProperty(replacement, 'name', { value: name, configurable: true });
    defineProperty(replacement, 'length', { value: 1, configurable: true });
    defineProperty(replacement, 'prototype', { value: prototype, writable: false });
    const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(prototype, 'constructor');
    defineProperty(prototype, 'constructor', { value: replacement, writable, enumerable, configurable });
    return replacement;
  };
  const make = () => function () { refuse(); };
  const OnlyFunction = replace(function () {}, make);
  defineProperty(globalThis, 'Function', { value: OnlyFunction, writable: true, enumerable: false, configurable: true });
  for (const sample of [async function () {}, function* () {}, async function* () {}]) {
    setPrototypeOf(replace(sample, make), OnlyFunction);
  }
  const { eval: onlyEval } = { eval(source) { if (typeof source === 'string') refuse(); return source; } };
  defineProperty(globalThis, 'eval', { value: onlyEval, writable: true, enumerable: false, configurable: true });
})();
`;
