/** Messages that are taken without the schemas are those the schemas take, unchanged. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readPlainMessage } from "#runner/plain-messages.ts";
import { childMessageSchema } from "#runner/protocol-schemas.ts";

const untried = { protocol: 1, node: "v26.10.0" };
const booted = { ...untried, answers: { birth: [-13, -1], locked: [-1] } };
const message = (method: string, params: unknown) => ({ jsonrpc: "2.0", method, params });

/** Stands for a number that becomes Infinity. */
const TOO_LARGE = "too large";

const PLAIN = [
  message("booted", booted),
  message("booted", untried),
  message("ready", { layers: [0, 1, 3], codeCache: true }),
  message("stdout", { text: "out\n" }),
  message("stderr", { text: "" }),
  message("end", { ok: true }),
  message("end", { ok: true, result: { deep: [1, null] } }),
];

test.each(PLAIN)("$method is taken as it is", (plain) => {
  expect(readPlainMessage(plain)).toBe(plain);
  expect(childMessageSchema.parse(plain)).toEqual(plain);
});

describe("what is wrong in one place is left to the schemas", () => {
  const values = fc.oneof(
    fc.constantFrom(null, true, -1, 1.5, 9, TOO_LARGE, "", "2.0", "x".repeat(101), [], {}, [9], [1.5]),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
  );

  /** The same message with another value somewhere, one member more, or one less. */
  const changed = fc
    .record({
      plain: fc.constantFrom(...PLAIN),
      at: fc.nat(),
      value: values,
      how: fc.constantFrom("set", "add", "drop"),
    })
    .map(({ plain, at, value, how }) => {
      const copy = structuredClone(plain) as unknown as Record<string, unknown>;
      const places = listPlaces(copy);
      const [holder, key] = places[at % places.length] as [Record<string, unknown>, string];
      if (how === "set") holder[key] = value;
      else if (how === "drop" || Array.isArray(holder)) delete holder[key];
      else
        Object.defineProperty(holder, at % 2 ? "more" : "__proto__", {
          value,
          enumerable: true,
          configurable: true,
        });
      // As a child could send it.
      return JSON.parse(JSON.stringify(copy).replaceAll(`"${TOO_LARGE}"`, "1e999")) as unknown;
    });

  test("whatever it is: nothing is taken that they refuse or would change", () => {
    fc.assert(
      fc.property(changed, (value) => {
        const plain = readPlainMessage(value);
        if (plain !== null)
          expect(childMessageSchema.safeParse(value)).toEqual({ success: true, data: value });
      }),
      { numRuns: 3000 },
    );
  });
});

function listPlaces(value: unknown): [Record<string, unknown>, string][] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [
    [holder, key] as [Record<string, unknown>, string],
    ...listPlaces(holder[key]),
  ]);
}
