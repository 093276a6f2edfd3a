/** Invariants for every interleaving of the steps of a run, its children, its approvers and its servers. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { type Operation, type SimpleOperation, type Tables, World } from "./world.ts";

const simple: fc.Arbitrary<SimpleOperation> = fc.oneof(
  fc.record({ kind: fc.constantFrom("safe" as const, "risky" as const), asks: fc.boolean() }),
  fc.constant<SimpleOperation>({ kind: "ask", asks: true }),
);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 3, arbitrary: simple },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("together" as const),
      operations: fc.array(simple, { minLength: 2, maxLength: 3 }),
    }),
  },
);
export const script = fc.array(operation, { minLength: 1, maxLength: 4 });
export const schedule = fc.array(fc.nat(9999), { minLength: 5, maxLength: 120 });

const CALL = { kind: "safe" as const, asks: false };
const ASKED = { kind: "safe" as const, asks: true };
/** Interleavings that were wrong once. */
export const examples: [Operation[], number[]][] = [
  // Decided while another request is being stored, and the server dies before the run is told.
  [
    [CALL, { kind: "together", operations: [ASKED, ASKED, CALL] }],
    [1, 1, 1, 1, 1, 313, 2209, 4009, 3086, 4993, 1082, 58, 0, 0],
  ],
];

export async function checkInterleaving(
  tables: Tables,
  operations: readonly Operation[],
  picks: readonly number[],
): Promise<World> {
  const world = new World(tables, operations);
  await world.play(picks);
  try {
    await checkNow(world, operations);
    const { state, pending } = await world.read();
    // Nothing has anything left to do: then it is over, or a person is waited for.
    assert(state === "idle" || (state === "paused" && pending.length > 0), `${state} with ${pending}`);
    if (state === "paused") await checkAllDone(world, operations);
    await world.finish();
    await checkNow(world, operations);
    assert.equal((await world.read()).state, "idle");
  } catch (error) {
    throw new Error(`${(error as Error).message}\nafter: ${world.trace.join(", ")}`, { cause: error });
  }
  return world;
}

/** Approved calls have been made, even if others still wait. */
async function checkAllDone(world: World, operations: readonly Operation[]): Promise<void> {
  const flat = flatten(operations);
  for (const [seq, state] of (await world.read()).states) {
    const kind = flat[seq - 1]?.kind;
    if (state !== "approved" || kind === "ask") continue;
    assert(world.executed.has(`${kind} ${seq}`), `${kind} ${seq} was approved and is not done`);
  }
}

function flatten(operations: readonly Operation[]): SimpleOperation[] {
  return operations.flatMap((one) => (one.kind === "together" ? one.operations : [one]));
}

async function checkNow(world: World, operations: readonly Operation[]): Promise<void> {
  const { states } = await world.read();
  const asked = new Map(states);
  const flat = flatten(operations);
  for (const [key, times] of world.executed) {
    const [kind, seq] = key.split(" ");
    // A call that changes nothing may be made again when the server died while it was under way.
    const mayBe = kind === "risky" ? 1 : 1 + world.crashes;
    assert(times <= mayBe, `${key} was executed ${times} times`);
    const wasToAsk = flat[Number(seq) - 1]?.asks === true;
    if (wasToAsk) assert.equal(asked.get(Number(seq)), "approved", `${key} without approval`);
  }
  for (const [approval, times] of world.decisions) assert.equal(times, 1, `${approval} was decided`);
}
