#!/usr/bin/env bash
# Runs the escape corpus and the jail's tests as a restricted pod would run the server: uid 1000, no capability, no new
# privileges, read-only root, the runtime's default seccomp profile, no network but loopback. Needs root, podman and runc;
# without them it says why and counts as one skipped test. `npm run build` must have run. Arguments go to vitest;
# CYRNEL_ZYGOTE=off runs it with a booted process for every script.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() { printf 'The security suite was not run inside a container: %s\n\n0 passed, 0 failed, 1 skipped\n' "$1"; exit 0; }
[ "$(uname -s)" = Linux ] || skip 'this needs Linux.'
[ "$(id -u)" = 0 ] || skip 'this needs root, to start a container that has none.'
for tool in podman runc setpriv; do
  command -v "$tool" >/dev/null || skip "$tool is not installed (apt-get install -y podman runc)."
done

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
chmod 0755 "$work"

# The programs and libraries are this machine's own, read-only; nothing else of it is inside.
rootfs=$work/rootfs
mkdir -p "$rootfs"/{etc,proc,sys,dev,tmp,run,usr,cyrnel}
chmod 1777 "$rootfs/tmp"
volumes=(--volume /usr:/usr:ro)
for folder in /bin /sbin /lib /lib64; do
  if [ -L "$folder" ]; then cp -P "$folder" "$rootfs$folder"
  elif [ -d "$folder" ]; then mkdir "$rootfs$folder" && volumes+=(--volume "$folder:$folder:ro"); fi
done
cp /etc/ld.so.cache "$rootfs/etc/"
printf 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n' >"$rootfs/etc/passwd"

# Mounted where the user of the container can read it: a clone may be its owner's only.
project=$PWD
if ! setpriv --reuid 1000 --regid 1000 --clear-groups test -r tests/packages/node_modules/vitest/package.json; then
  cp -a . "$work/project"
  chmod -R go+rX "$work/project"
  project=$work/project
fi

restricted=(
  --user 1000:1000 --read-only --cap-drop ALL --security-opt no-new-privileges --network none
  --tmpfs /tmp:size=1g,mode=1777,noexec,nosuid,nodev --shm-size 128m --pids-limit 2000
  --ulimit nofile=4096:4096 --ulimit nproc=4096:4096
)
podman=(podman --cgroup-manager cgroupfs --runtime "$(command -v runc)" run --rm "${restricted[@]}")
if ! reason=$("${podman[@]}" "${volumes[@]}" --rootfs "$rootfs" /bin/true 2>&1); then
  skip "podman could not start a container here: ${reason##*$'\n'}"
fi
echo "Inside a container: ${restricted[*]}"
"${podman[@]}" "${volumes[@]}" --volume "$project:/cyrnel:ro" --workdir /cyrnel \
  --env HOME=/tmp --env NO_COLOR="${NO_COLOR:-}" --env CYRNEL_TEST_RESTRICTED=1 --env CYRNEL_ZYGOTE="${CYRNEL_ZYGOTE:-on}" --rootfs "$rootfs" \
  node_modules/.bin/node tests/packages/node_modules/vitest/vitest.mjs run --configLoader native --config tests/container/security.config.ts "$@"
