#!/usr/bin/env bash
# Builds the pinned llama.cpp once per machine into the cache; later runs return at once.
#   llama.sh libs    shared libraries and headers (what corral links against)
#   llama.sh tools   also llama.cpp's own programs (the reference and the peer in tests and benchmarks)
# Prints the folder that holds bin/ (libraries, programs) and include/.
set -euo pipefail; shopt -s inherit_errexit
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

libs=(llama llama-common ggml ggml-rpc)
tools=(llama-server llama-completion llama-tokenize llama-batched-bench llama-bench llama-quantize ggml-rpc-server)

fetch_source() {
  local src=$cache/llama-src-$llama_version
  if [ ! -e "$src/.complete" ]; then
    say "Fetching the source of llama.cpp $llama_version"
    local work; work=$(mktemp -d "$cache/fetch.XXXXXX")
    local tarball; tarball=$(cd "$work" && npm pack --silent "node-llama-cpp@$llama_npm_version")
    printf '%s  %s\n' "$llama_npm_sha256" "$work/$tarball" | sha256sum --check --status \
      || die "node-llama-cpp $llama_npm_version: the package is not the pinned one (sha256 differs)"
    tar -xzf "$work/$tarball" -C "$work" package/llama/gitRelease.bundle
    rm -rf "$src"
    git -c advice.detachedHead=false clone --quiet "$work/package/llama/gitRelease.bundle" "$src"
    rm -rf "$work"
    touch "$src/.complete"
  fi
  printf '%s' "$src"
}

build() {  # build STAGE TARGET...
  local stage=$1; shift
  [ -e "$llama_prefix/.$stage" ] && return
  local src; src=$(fetch_source)
  local dir=$llama_prefix/build
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  say "Building llama.cpp $llama_version ($stage): minutes, once per machine"
  cmake -S "$src" -B "$dir" -G Ninja "${llama_cmake_flags[@]}" "${launcher[@]}" >"$llama_prefix/configure.log" 2>&1 \
    || { tail -n 30 "$llama_prefix/configure.log" >&2; die "llama.cpp: configure failed"; }
  local targets=("$@")
  # The CPU variants are modules that nothing links to: name them, whichever this architecture has.
  mapfile -t -O "${#targets[@]}" targets < <(ninja -C "$dir" -t targets all | sed -n 's/^\(ggml-cpu-[a-z0-9_]*\|ggml-cuda\|ggml-vulkan\): phony$/\1/p' | grep -v feats)
  ninja -C "$dir" "${targets[@]}" >"$llama_prefix/$stage.log" 2>&1 \
    || { tail -n 40 "$llama_prefix/$stage.log" >&2; die "llama.cpp: build failed"; }
  mkdir -p "$llama_prefix/include/llama-common"
  ln -sfn build/bin "$llama_prefix/bin"
  cp "$src"/include/*.h "$src"/ggml/include/*.h "$llama_prefix/include/"
  (cd "$src/common" && find . \( -name '*.h' -o -name '*.hpp' \) -exec cp --parents -t "$llama_prefix/include/llama-common" {} +)
  mkdir -p "$llama_prefix/include/llama-common/nlohmann"
  cp "$src"/vendor/nlohmann/*.hpp "$llama_prefix/include/llama-common/nlohmann/"
  touch "$llama_prefix/.$stage"
}

stage=${1:-libs}
mkdir -p "$llama_prefix"
exec 9>"$llama_prefix/.lock"
flock 9
build libs "${libs[@]}"
[ "$stage" = tools ] && build tools "${tools[@]}"
printf '%s\n' "$llama_prefix"
