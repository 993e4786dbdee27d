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

without() {  # without WHY: the program gets no page. CORRAL_BUILD_CONSOLE=required: an error, for packages and tests.
  [ "${CORRAL_BUILD_CONSOLE:-}" != required ] || die "$1"
  say "$1: the program is built without it"
  use /dev/null
  exit
}

if [ -e "$stored" ]; then
  use "$stored"
  exit
fi
# Node is needed in the version of web/package.json; npm would fail later, and less clearly.
if ! command -v npm >/dev/null || ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then
  without "the console (the page for browsers) needs npm with Node 20.19 or later"
fi
mkdir -p "$cache/console"
exec 9>"$cache/console/.lock"
flock 9
say "Building the console"
build() {
  cd "$web" &&
    { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --no-audit --no-fund --loglevel=error; } &&
    node_modules/.bin/vite build --logLevel warn &&
    node pack.mjs "$stored.$$"
}
# Fails without a network and without web/node_modules, for example.
(build) >&2 || without "the console cannot be built (see above)"
mv "$stored.$$" "$stored"
use "$stored"
