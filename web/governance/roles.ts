/** The roles there are, for whoever may read them. */
import { unwrap } from "#client/errors.ts";
import { client, type Role } from "../server/api.ts";

export async function readRoles(signal: AbortSignal): Promise<readonly Role[]> {
  return unwrap(await client.value.GET("/roles", { params: { query: { limit: "200" } }, signal })).roles;
}
