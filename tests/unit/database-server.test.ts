import { expect, test } from "vitest";
import { describeUnsuitable } from "#api/db/migrate.ts";

const suitable = { number: 180_004, name: "18.4", replica: false, readOnly: false };

test("Postgres 15 is the oldest that is accepted; an older one is refused by name", () => {
  expect(describeUnsuitable(suitable)).toBeNull();
  expect(describeUnsuitable({ ...suitable, number: 150_000, name: "15.0" })).toBeNull();
  const reason = describeUnsuitable({ ...suitable, number: 140_013, name: "14.13 (Debian 14.13-1)" });
  expect(reason).toContain("14.13 (Debian 14.13-1)");
  expect(reason).toContain("15 or newer");
});

test("a standby and a read-only database are refused, each by what it is", () => {
  expect(describeUnsuitable({ ...suitable, replica: true })).toContain("standby");
  expect(describeUnsuitable({ ...suitable, readOnly: true })).toContain("default_transaction_read_only");
});
