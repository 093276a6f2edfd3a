/** Work that is done now and then by one of the servers on a database: whoever asks first when it is due. */
import type { Db } from "./pool.ts";

/** Whether the work is this server's now: nobody has begun it in the last `everyMs`, by the clock of the database. */
export async function takeTurn(db: Db, name: string, everyMs: number): Promise<boolean> {
  const rows = await db`
    insert into sweep_turns as t (name) values (${name})
    on conflict (name) do update set taken_at = now()
      where t.taken_at <= now() - make_interval(secs => ${everyMs / 1000})
    returning name`;
  return rows.length === 1;
}
