/**
 * What files of the web-platform tests call: `test`, `promise_test`, assertions and the like, as testharness.js has them. Goes before a
 * file in one run of a script; `finish()` answers the outcomes. Addresses are relative to WPT_BASE, as in a document.
 */
globalThis.self = globalThis;
globalThis.GLOBAL = { isWindow: () => false, isWorker: () => false, isShadowRealm: () => false };
globalThis.location = new URL(WPT_BASE);
const outcomes = [];
const pending = [];
const shown = (value) => {
  try {
    return typeof value === "string" ? JSON.stringify(value) : String(value);
  } catch {
    return typeof value;
  }
};
globalThis.format_value = shown;

class AssertionError extends Error {}
const fail = (text, message) => {
  throw new AssertionError(message === undefined ? text : `${message}: ${text}`);
};
const check = (holds, text, message) => holds || fail(text, message);

const assertions = {
  assert_equals: (found, expected, message) =>
    check(Object.is(found, expected), `expected ${shown(expected)} but got ${shown(found)}`, message),
  assert_not_equals: (found, other, message) =>
    check(!Object.is(found, other), `got ${shown(found)}`, message),
  assert_true: (found, message) => check(found === true, `expected true but got ${shown(found)}`, message),
  assert_false: (found, message) => check(found === false, `expected false but got ${shown(found)}`, message),
  assert_in_array: (found, list, message) =>
    check(list.includes(found), `${shown(found)} is not in the list`, message),
  assert_array_equals(found, expected, message) {
    check(typeof found === "object" && found !== null && "length" in found, "is no array", message);
    check(
      found.length === expected.length,
      `expected length ${expected.length} but got ${found.length}`,
      message,
    );
    for (let index = 0; index < found.length; index++)
      check(Object.is(found[index], expected[index]), `differs at ${index}: ${shown(found[index])}`, message);
  },
  assert_object_equals(found, expected, message) {
    check(JSON.stringify(found) === JSON.stringify(expected), `got ${JSON.stringify(found)}`, message);
  },
  assert_approx_equals: (found, expected, epsilon, message) =>
    check(Math.abs(found - expected) <= epsilon, `got ${found}`, message),
  assert_less_than: (found, limit, message) => check(found < limit, `got ${found}`, message),
  assert_greater_than: (found, limit, message) => check(found > limit, `got ${found}`, message),
  assert_less_than_equal: (found, limit, message) => check(found <= limit, `got ${found}`, message),
  assert_greater_than_equal: (found, limit, message) => check(found >= limit, `got ${found}`, message),
  assert_regexp_match: (found, pattern, message) =>
    check(pattern.test(found), `got ${shown(found)}`, message),
  assert_class_string: (found, name, message) =>
    assertions.assert_equals(Object.prototype.toString.call(found), `[object ${name}]`, message),
  assert_own_property: (object, name, message) =>
    check(Object.hasOwn(object, name), `has no ${name}`, message),
  assert_not_own_property: (object, name, message) =>
    check(!Object.hasOwn(object, name), `has ${name}`, message),
  assert_inherits: (object, name, message) =>
    check(!Object.hasOwn(object, name) && name in object, `does not inherit ${name}`, message),
  assert_idl_attribute: (object, name, message) =>
    check(!Object.hasOwn(object, name) && name in object, `does not inherit ${name}`, message),
  assert_readonly(object, name, message) {
    const before = object[name];
    try {
      object[name] = `${before}a`;
    } catch {
      // Strict code.
    }
    check(Object.is(object[name], before), `${name} was changed`, message);
  },
  assert_throws_js: (type, act, message) => thrown(act, (error) => isOf(error, type), type.name, message),
  assert_throws_dom: (name, ...rest) => {
    const [act, message] = typeof rest[1] === "function" ? rest.slice(1) : rest;
    thrown(act, (error) => isDom(error, name), name, message);
  },
  assert_throws_exactly: (reason, act, message) =>
    thrown(act, (error) => Object.is(error, reason), "this", message),
  assert_unreached: (message) => fail("was reached", message),
  promise_rejects_js: (_test, type, promise, message) =>
    rejected(promise, (error) => isOf(error, type), type.name, message),
  promise_rejects_dom: (_test, name, ...rest) => {
    const [promise, message] = typeof rest[0] === "function" ? rest.slice(1) : rest;
    return rejected(promise, (error) => isDom(error, name), name, message);
  },
  promise_rejects_exactly: (_test, reason, promise, message) =>
    rejected(promise, (error) => Object.is(error, reason), "this", message),
};
Object.assign(globalThis, assertions);

const isOf = (error, type) => error instanceof type && error.constructor === type;
const isDom = (error, name) => error instanceof DOMException && error.name === name;
function thrown(act, fits, what, message) {
  let caught = null;
  try {
    act();
  } catch (error) {
    caught = { error };
  }
  if (caught === null) fail(`expected ${what}, nothing was thrown`, message);
  check(fits(caught.error), `expected ${what} but got ${shown(caught.error)}`, message);
}
const rejected = (promise, fits, what, message) =>
  Promise.resolve(promise).then(
    () => fail(`expected ${what}, it was fulfilled`, message),
    (error) => check(fits(error), `expected ${what} but got ${shown(error)}`, message),
  );

class Test {
  constructor(name) {
    this.name = name;
    this.cleanups = [];
    this.over = Promise.withResolvers();
  }
  add_cleanup(act) {
    this.cleanups.push(act);
  }
  step(act, self, ...args) {
    try {
      return act.apply(self ?? this, args);
    } catch (error) {
      this.over.reject(error);
    }
  }
  step_func(act, self) {
    return (...args) => this.step(act, self, ...args);
  }
  step_func_done(act, self) {
    return (...args) => {
      if (act !== undefined) this.step(act, self, ...args);
      this.done();
    };
  }
  unreached_func(message) {
    return this.step_func(() => fail("was reached", message));
  }
  step_timeout(act, ms, ...args) {
    return setTimeout(() => this.step(act, this, ...args), ms);
  }
  done() {
    this.over.resolve();
  }
}

const describe = (error) => `${error?.name}: ${error?.message}`.slice(0, 300);

async function settle(test, promise) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new AssertionError("timed out")), 3000);
  });
  try {
    await Promise.race([promise, late]);
    outcomes.push({ name: test.name, ok: true });
  } catch (error) {
    outcomes.push({ name: test.name, ok: false, why: describe(error) });
  } finally {
    clearTimeout(timer);
    for (const act of test.cleanups) await act();
  }
}

let lastPromise = Promise.resolve();
Object.assign(globalThis, {
  test(act, name = document_title) {
    const own = new Test(name);
    try {
      act.call(own, own);
      outcomes.push({ name, ok: true });
    } catch (error) {
      outcomes.push({ name, ok: false, why: describe(error) });
    }
    for (const cleanUp of own.cleanups) cleanUp();
  },
  async_test(act, name = document_title) {
    const [first, label] = typeof act === "function" ? [act, name] : [() => {}, act ?? name];
    const own = new Test(label);
    own.over.promise.catch(() => {});
    own.step(first, own, own);
    pending.push(settle(own, own.over.promise));
    return own;
  },
  promise_test(act, name = document_title) {
    const own = new Test(name);
    lastPromise = lastPromise.then(() =>
      settle(own, Promise.race([Promise.try(() => act.call(own, own)), own.over.promise])),
    );
    pending.push(lastPromise);
  },
  setup(first) {
    if (typeof first === "function") first();
  },
  done() {},
  step_timeout: (act, ms, ...args) => setTimeout(act, ms, ...args),
  add_completion_callback() {},
  subsetTest: (define, ...args) => define(...args),
});
const document_title = "the file";

/** By which the tests look into blobs. */
globalThis.FileReader = class {
  readAsText = (blob) => this.#read(blob.text());
  readAsArrayBuffer = (blob) => this.#read(blob.arrayBuffer());
  #read(promise) {
    promise.then((result) => {
      this.result = result;
      this.onload?.({ target: this });
      this.onloadend?.({ target: this });
    });
  }
};

// Addresses without an origin are relative to the file, as in a document.
const resolve = (address) => new URL(String(address), WPT_BASE).href;
const OwnRequest = Request;
globalThis.Request = new Proxy(OwnRequest, {
  construct(target, [input, ...rest], made) {
    const isAddress = !(input instanceof OwnRequest) && typeof input !== "symbol" && input !== undefined;
    const address =
      isAddress && !/^(?:https?:\/\/\S*@|https?:\/\/:)/.test(String(input)) ? resolveOr(input) : input;
    return Reflect.construct(target, [address, ...rest], made === globalThis.Request ? target : made);
  },
});
function resolveOr(input) {
  try {
    return resolve(input);
  } catch {
    return input;
  }
}
const ownFetch = fetch;
globalThis.fetch = (input, init) => ownFetch(input instanceof OwnRequest ? input : resolveOr(input), init);
const ownRedirect = Response.redirect;
Response.redirect = (...args) =>
  ownRedirect(...(args.length > 0 ? [resolveOr(args[0]), ...args.slice(1)] : []));

/** Answers the outcomes; called after the file. */
globalThis.finish = async () => {
  for (let count = -1; count < pending.length; ) {
    count = pending.length;
    await Promise.all(pending);
  }
  return outcomes;
};
