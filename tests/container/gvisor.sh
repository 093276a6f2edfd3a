#!/usr/bin/env bash
# What gVisor gives a run, as docs/security.md says it: the doctor inside a sandbox of runsc finds level standard, by the monitor, with
# gVisor as a layer of its own, and not strict. Needs root and runsc (Debian: bookworm-backports; CYRNEL_RUNSC names another one);
# without them it says why and counts as one skipped test. `npm run build` must have run.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() { printf 'gVisor was not tried: %s\n\n0 passed, 0 failed, 1 skipped\n' "$1"; exit 0; }
runsc=${CYRNEL_RUNSC:-runsc}
command -v "$runsc" >/dev/null || skip 'runsc is not installed.'
[ "$(id -u)" = 0 ] || skip 'this needs root.'
inside() { timeout --signal KILL 180 "$runsc" --network=none --ignore-cgroups --platform=systrap do -cwd "$PWD" "$@" </dev/null; }
inside /bin/true >/dev/null 2>&1 || skip 'runsc cannot start a sandbox here.'

node=$(realpath node_modules/.bin/node)
passed=0
failed=0
check() { # name, pattern
  if grep -qE "$2" <<<"$report"; then passed=$((passed + 1)); else failed=$((failed + 1)); printf 'FAILED %s: expected %s\n' "$1" "$2"; fi
}
report=$(inside "$node" dist/server/isolation-doctor.js strict) || true
check 'strict is refused for Landlock' '^strict: Isolation level strict needs layers 2 and 3 \(Landlock\)'
check 'standard is advised' 'CYRNEL_ISOLATION=standard\.$'
check 'standard stands' '^Isolation level strict is not available; standard is\.$'
check 'filters are there' 'no Landlock .*, seccomp filter; after its own lock'
check 'memory is kept by the monitor' 'does not keep to it; a child that went beyond was seen by the monitor'
check 'gVisor is a layer of its own' '^8 kernel of its own: there$'
[ "$failed" = 0 ] || printf '%s\n' "$report"
printf '\n%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
