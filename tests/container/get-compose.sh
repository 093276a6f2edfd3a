#!/usr/bin/env bash
# Prints the path of Docker's compose plug-in: this machine's, or Debian's, fetched and checked against its package list, which
# is kept beside the node_modules of this clone. Fails with a sentence where neither can be had.
set -euo pipefail
cd "$(dirname "$0")/../.."
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
suite=trixie
kept=$PWD/node_modules/.cache/cyrnel-compose

for folder in "$HOME/.docker" /usr/local/lib/docker /usr/lib/docker /usr/libexec/docker; do
  plugin=$folder/cli-plugins/docker-compose
  if [ -x "$plugin" ]; then printf '%s\n' "$plugin"; exit 0; fi
done

plugin=$kept/usr/libexec/docker/cli-plugins/docker-compose
if [ ! -x "$plugin" ]; then
  command -v dpkg-deb >/dev/null || { echo 'there is no compose plug-in, and dpkg-deb is not there to unpack one.' >&2; exit 1; }
  mkdir -p "$kept"
  architecture=$(dpkg --print-architecture)
  entry=$(curl --fail --silent --show-error "$mirror/dists/$suite/main/binary-$architecture/Packages.xz" | xz --decompress |
    awk -v RS= '/^Package: docker-compose\n/')
  [ -n "$entry" ] || { echo "there is no compose plug-in, and none at $mirror." >&2; exit 1; }
  field() { printf '%s\n' "$entry" | sed -n "s/^$1: //p"; }
  curl --fail --silent --show-error --output "$kept/package.deb" "$mirror/$(field Filename)"
  printf '%s  %s\n' "$(field SHA256)" "$kept/package.deb" | sha256sum --check --quiet
  dpkg-deb --extract "$kept/package.deb" "$kept"
fi
printf '%s\n' "$plugin"
