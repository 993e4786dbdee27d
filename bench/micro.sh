#!/usr/bin/env bash
# Hot paths: leases, checks and translations of bodies, heads of requests, sampling. Arguments go to Google Benchmark.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../script/lib/env.sh"
if [[ " $* " == *" --help "* ]]; then
  sed -n '2s/^# //p' "$0"
  echo "Useful: --benchmark_filter=REGEX --benchmark_repetitions=N --benchmark_report_aggregates_only"
  exit
fi
"$repo/script/build" release --quiet corral-micro-bench >&2
exec "$repo/build/release/bin/corral-micro-bench" --benchmark_min_time=0.3 "$@"
