#!/usr/bin/env bash
# Prints the path of Docker's compose plug-in: this machine's, or Debian's, which is fetched, checked by Debian's signature and
# kept beside the node_modules of this clone. Fails with a sentence where neither can be had.
set -euo pipefail
cd "$(dirname "$0")/../.."
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
suite=trixie
keys=/usr/share/keyrings/debian-archive-keyring.gpg
kept=$PWD/node_modules/.cache/cyrnel-compose

for folder in "$HOME/.docker" /usr/local/lib/docker /usr/lib/docker /usr/libexec/docker; do
  plugin=$folder/cli-plugins/docker-compose
  if [ -x "$plugin" ]; then printf '%s\n' "$plugin"; exit 0; fi
done

plugin=$kept/usr/libexec/docker/cli-plugins/docker-compose
if [ ! -x "$plugin" ]; then
  if ! { command -v dpkg-deb && command -v gpgv && [ -f "$keys" ]; } >/dev/null; then
    echo 'There is no compose plug-in, and dpkg-deb, gpgv and the keys of Debian are not all there to fetch one.' >&2
    exit 1
  fi
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  list=main/binary-$(dpkg --print-architecture)/Packages.xz
  get() { curl --fail --silent --show-error --output "$work/$2" "$mirror/$1"; }
  # A digest that a signed or checked file names, of a file that was fetched.
  check() { printf '%s  %s\n' "$1" "$work/$2" | sha256sum --check --quiet; }

  get "dists/$suite/InRelease" signed
  gpgv --quiet --keyring "$keys" --output "$work/release" "$work/signed" 2>"$work/why" || { cat "$work/why" >&2; exit 1; }
  get "dists/$suite/$list" list.xz
  check "$(sed -n '/^SHA256:/,$p' "$work/release" | awk -v list="$list" '$3 == list { print $1 }')" list.xz
  entry=$(xz --decompress --stdout "$work/list.xz" | awk -v RS= '/^Package: docker-compose\n/')
  field() { printf '%s\n' "$entry" | sed -n "s/^$1: //p"; }
  get "$(field Filename)" package.deb
  check "$(field SHA256)" package.deb
  mkdir -p "$kept"
  dpkg-deb --extract "$work/package.deb" "$kept"
fi
printf '%s\n' "$plugin"
