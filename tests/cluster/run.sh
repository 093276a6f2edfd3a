#!/usr/bin/env bash
# Installs the chart in the running cluster that KUBECONFIG names and updates, deletes and drains its pods under load. Needs kubectl,
# and the image in the cluster: CYRNEL_TEST_IMAGE (localhost/cyrnel-test:latest, which tests/container/build-and-run.sh makes).
# CYRNEL_TEST_POSTGRES_IMAGE: docker.io/library/postgres:18. CYRNEL_TEST_OLD_KUBERNETES=1: a cluster before 1.27, without what came
# later. With kind: `kind create cluster`, `kind load docker-image`, `npm test -- cluster`. Not part of `npm test`.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PWD/node_modules/.bin:$PWD/tests/node_modules/.bin:$PATH

skip() { printf 'The chart was not installed in a cluster: %s\n\n0 passed, 0 failed, 1 skipped\n' "$1"; exit 0; }
[ -n "${KUBECONFIG:-}" ] || skip 'KUBECONFIG does not name one.'
command -v kubectl >/dev/null || skip 'kubectl is not installed.'
kubectl version >/dev/null || skip 'the cluster of KUBECONFIG does not answer.'
exec vitest run --config tests/cluster/vitest.config.ts "$@"
