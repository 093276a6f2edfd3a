/** A server that starts a spinning child in the jail, prints its pid and waits to be killed: `node … <bundle> <cwd>`. */
import { startJail, startLocked } from "./jail.ts";

const [bundle = "", cwd = ""] = process.argv.slice(2);
const spawner = await startJail(bundle);
const { child, say } = await startLocked(spawner, bundle, cwd);
say("spin");
process.stdout.write(`${child.pid}\n`);
setInterval(() => {}, 1000);
