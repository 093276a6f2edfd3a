/** Timings of servers whose tests wait for them: a tenth of the true ones. `npm test -- timings` runs these tests with the true ones. */
import { DEFAULT_TIMINGS, type Timings } from "#api/config/timings.ts";

const DIVISOR = process.env.CYRNEL_TRUE_TIMINGS === "1" ? 1 : 10;

/** An attempt to connect takes up to 3 s. A query that gave up before would not notice its failure. */
const MIN_WAIT_TIMEOUT_MS = 4000;

const divided = Object.fromEntries(
  Object.entries(DEFAULT_TIMINGS).map(([name, value]) => [name, value / DIVISOR]),
) as unknown as Timings;
export const TEST_TIMINGS: Timings = {
  ...divided,
  waitTimeoutMs: Math.max(MIN_WAIT_TIMEOUT_MS, divided.waitTimeoutMs),
};

/** As an environment variable of a server; `changed` differ from a tenth unless the true timings are tested. */
export function timingsVariable(changed: Partial<Timings> = {}): { CYRNEL_TIMINGS: string } {
  return {
    CYRNEL_TIMINGS: JSON.stringify(DIVISOR === 1 ? DEFAULT_TIMINGS : { ...TEST_TIMINGS, ...changed }),
  };
}
