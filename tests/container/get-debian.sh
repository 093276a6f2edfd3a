#!/usr/bin/env bash
# get-debian.sh SUITE PACKAGE…: prints the folder in which these packages of Debian are unpacked; nothing is installed. They are
# fetched once, checked by Debian's signature, and kept beside the node_modules of this clone. Fails with a sentence otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
suite=$1
shift
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
kept=$PWD/node_modules/.cache/cyrnel-debian/$suite

missing=()
for package; do [ -d "$kept/$package" ] || missing+=("$package"); done
if [ ${#missing[@]} != 0 ]; then
  if ! { command -v dpkg-deb && command -v gpgv && [ -f "$keys" ]; } >/dev/null; then
    echo "To fetch ${missing[*]} of Debian, dpkg-deb, gpgv and Debian's keys ($keys) have to be there." >&2
    exit 1
  fi
  mkdir -p "$kept"
  work=$(mktemp -d "$kept/.fetch-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  list=main/binary-$(dpkg --print-architecture)/Packages.xz
  get() { curl --fail --silent --show-error --output "$work/$2" "$mirror/$1"; }
  # A digest that a signed or checked file names, of a file that was fetched.
  check() { printf '%s  %s\n' "$1" "$work/$2" | sha256sum --check --quiet; }

  get "dists/$suite/InRelease" signed
  gpgv --quiet --keyring "$keys" --output "$work/release" "$work/signed" 2>"$work/why" || { cat "$work/why" >&2; exit 1; }
  get "dists/$suite/$list" list.xz
  check "$(sed -n '/^SHA256:/,$p' "$work/release" | awk -v list="$list" '$3 == list { print $1 }')" list.xz
  for package in "${missing[@]}"; do
    entry=$(xz --decompress --stdout "$work/list.xz" | awk -v RS= -v first="Package: $package" 'index($0, first "\n") == 1')
    [ "$entry" ] || { echo "Debian $suite has no package $package." >&2; exit 1; }
    field() { printf '%s\n' "$entry" | sed -n "s/^$1: //p"; }
    get "$(field Filename)" package.deb
    check "$(field SHA256)" package.deb
    dpkg-deb --extract "$work/package.deb" "$work/unpacked"
    # Where another one was faster, its copy is as good.
    mv --no-target-directory "$work/unpacked" "$kept/$package" 2>/dev/null || [ -d "$kept/$package" ]
    rm -rf "$work/unpacked"
  done
fi
printf '%s\n' "$kept"
