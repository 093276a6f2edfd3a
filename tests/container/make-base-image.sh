#!/usr/bin/env bash
# Makes a local stand-in for the official node:<version>-slim image where no image registry can be reached: minimal
# Debian, the pinned Node of node_modules, this machine's npm. Needs root, podman, debootstrap. Prints nothing.
set -euo pipefail
image=$1
project=$(cd "$(dirname "$0")/../.." && pwd)
suite=${DEBIAN_SUITE:-bookworm}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
debootstrap --variant=minbase --include=ca-certificates,libatomic1 "$suite" "$root" "$mirror" >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log" >&2; exit 1; }

install -D "$project"/node_modules/node-linux-*/bin/node "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules" "$root/usr/local/etc"
cp -aL "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
chroot "$root" groupadd --gid 1000 node
chroot "$root" useradd --uid 1000 --gid node --shell /bin/bash --create-home node

# What this machine trusts, the stand-in trusts: a registry may be reached through a proxy with its own authority.
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  install -m 0644 "$NODE_EXTRA_CA_CERTS" "$root/usr/local/etc/authorities.pem"
  printf 'cafile=/usr/local/etc/authorities.pem\n' >"$root/usr/local/etc/npmrc"
fi

# The official slim images leave these out too.
rm -rf "$root"/usr/share/{doc,man,info,locale,lintian}/* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/*

tar -C "$root" -c . | podman import --quiet --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - "$image" >/dev/null
