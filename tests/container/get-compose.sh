#!/usr/bin/env bash
# Prints the path of Docker's compose plug-in: this machine's, or Debian's. Fails with a sentence where neither can be had.
set -euo pipefail
for folder in "$HOME/.docker" /usr/local/lib/docker /usr/lib/docker /usr/libexec/docker; do
  plugin=$folder/cli-plugins/docker-compose
  if [ -x "$plugin" ]; then printf '%s\n' "$plugin"; exit 0; fi
done
unpacked=$("$(dirname "$0")/get-debian.sh" trixie docker-compose)
printf '%s\n' "$unpacked/docker-compose/usr/libexec/docker/cli-plugins/docker-compose"
