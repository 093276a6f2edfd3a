#!/usr/bin/env bash
# The alert rules of deploy/prometheus, evaluated by Prometheus' own promtool (this machine's, or Debian's, which is not installed)
# on the series in alerts.test.yaml.
set -euo pipefail
cd "$(dirname "$0")"

if ! promtool=$(command -v promtool); then
  unpacked=$(./get-debian.sh bookworm prometheus) || {
    printf 'The alert rules were not evaluated: there is no promtool.\n\n0 passed, 0 failed, 1 skipped\n'
    exit 0
  }
  promtool=$unpacked/prometheus/usr/bin/promtool
fi
passed=0
failed=0
for check in 'check rules ../../deploy/prometheus/alerts.yaml' 'test rules alerts.test.yaml'; do
  if "$promtool" $check; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
printf '\n%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
