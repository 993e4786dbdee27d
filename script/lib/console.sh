#!/usr/bin/env bash
# Builds the page that the server embeds: build/console/console.pack. The result is stored in the cache by a hash of the sources in
# web/, so other builds and clones copy it. Without npm the file is empty, and the program has no page.
set -euo pipefail; shopt -s inherit_errexit
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

web=$repo/web
pack=$repo/build/console/console.pack
mkdir -p "$(dirname "$pack")"
# Tests of the page do not change it.
id=$(cd "$web" && find . \( -name node_modules -o -name dist \) -prune -o -type f ! -name '*.test.ts' -print0 | LC_ALL=C sort -z |
  xargs -0 sha256sum | sha256sum | cut -c1-16)
stored=$cache/console/$id.pack

use() {  # use FILE: as the pack, whose time changes only with its content
  cmp -s "$1" "$pack" || cp "$1" "$pack"
}

if [ -e "$stored" ]; then
  use "$stored"
  exit
fi
# Node is needed in the version of web/package.json; npm would fail later, and less clearly.
if ! command -v npm >/dev/null || ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then
  say "npm with Node 20.19 or later is missing: the program is built without the console (its page for browsers)"
  use /dev/null
  exit
fi
mkdir -p "$cache/console"
exec 9>"$cache/console/.lock"
flock 9
say "Building the console"
build() {
  cd "$web"
  [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  npx --no-install vite build --logLevel warn
  node pack.mjs "$stored.$$"
}
if ! (build) >&2; then
  # Without a network and without web/node_modules, for example. CORRAL_CONSOLE=required: an error, for packages and CI.
  [ "${CORRAL_CONSOLE:-}" != required ] || die "the console cannot be built"
  say "The console cannot be built (see above): the program is built without it"
  use /dev/null
  exit
fi
mv "$stored.$$" "$stored"
use "$stored"
