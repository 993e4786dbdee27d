#!/usr/bin/env bash
# Builds the pinned llama.cpp once per machine into the cache; later runs return at once.
#   llama.sh libs    shared libraries and headers (what corral links against)
#   llama.sh tools   also llama.cpp's own programs (the reference and the peer in tests and benchmarks)
#   llama.sh package   libs for packages, in a folder of their own: every CPU variant, and Vulkan as a module (needs glslc, libvulkan-dev
#                    and spirv-headers)
# Prints the folder that holds bin/ (libraries, programs) and include/.
set -euo pipefail; shopt -s inherit_errexit
[ "${1:-}" != package ] || export CORRAL_PACKAGE=1
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

# CPU code comes in variants, of which llama.cpp takes the best one for the machine at run time. A build for this machine needs that one
# only (a twentieth of the time); CORRAL_LLAMA_CPU=all builds every one, as a package for other machines needs them.
libs=(llama llama-common mtmd ggml ggml-rpc)
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

# The variants to build: what llama.cpp's own table offers for this architecture, less what this CPU can't run, and of these the best
# one by llama.cpp's own scores (ggml/src/ggml-cpu/arch/x86/cpu-feats.cpp). All of them where that isn't known.
cpu_variants() {  # cpu_variants SOURCE
  [ "${CORRAL_LLAMA_CPU:-}" = all ] || [ -n "${CORRAL_PACKAGE:-}${CORRAL_TOOLCHAIN:-}" ] || [ "$(uname -m)" != x86_64 ] || [ ! -r /proc/cpuinfo ] || {
    local best; best=$(sed -n 's/^ *ggml_add_cpu_backend_variant(\([a-z0-9_]*\) *\([A-Z0-9_ ]*\))$/\1 \2/p' "$1/ggml/src/CMakeLists.txt" \
      | awk -v flags=" $(sed -n 's/^flags[^:]*: //p;T;q' /proc/cpuinfo) " '
        BEGIN {
          n = split("FMA F16C SSE42 BMI2 AVX AVX2 AVX_VNNI AVX512 AVX512_VBMI AVX512_BF16 AVX512_VNNI AMX_INT8", names, " ")
          for (i = 1; i <= n; ++i) worth[names[i]] = 2 ^ (i - 1)
          words["SSE42"] = "sse4_2"; words["AVX512"] = "avx512f avx512cd avx512vl avx512dq avx512bw"; words["AVX512_VBMI"] = "avx512vbmi"
          words["AMX_TILE"] = "amx_tile"; top = 0
        }
        {
          score = 1
          for (i = 2; i <= NF; ++i) {
            if ($i != "AMX_TILE" && !($i in worth)) next  # of another architecture
            m = split($i in words ? words[$i] : tolower($i), wanted, " ")
            for (j = 1; j <= m; ++j) if (!index(flags, " " wanted[j] " ")) next
            score += worth[$i]
          }
          if (score > top) { top = score; best = $1 }
        }
        END { print best }')
    [ -z "$best" ] || { printf '%s' "$best"; return; }
  }
  printf 'all'
}

build() {  # build STAGE TARGET...
  local stage=$1; shift
  [ -e "$llama_prefix/.$stage" ] && return
  local src; src=$(fetch_source)
  local dir=$llama_prefix/build
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  local wanted=("-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=$repo/cmake/llama_build.cmake" "-DCORRAL_CPU_VARIANT=${variant/#all/}"
                "-DCORRAL_SLIM_COMMON=$([ "$programs" = no ] && echo ON || echo OFF)")  # programs need all of it
  export CC=clang-19 CXX=clang++-19  # for what it builds to run at once: the generator of Vulkan's shaders
  say "Building llama.cpp $llama_version ($stage): minutes, once per machine"
  cmake -S "$src" -B "$dir" -G Ninja "${llama_cmake_flags[@]}" "${launcher[@]}" "${wanted[@]}" >"$llama_prefix/configure.log" 2>&1 \
    || { tail -n 30 "$llama_prefix/configure.log" >&2; die "llama.cpp: configure failed"; }
  local targets=("$@")
  # CPU variants and GPU backends are modules that nothing links to: name them.
  local modules='ggml-cuda\|ggml-vulkan'
  if [ "$variant" = all ]; then modules+='\|ggml-cpu-[a-z0-9_.]*'; else modules+="\\|ggml-cpu-$variant"; fi
  mapfile -t -O "${#targets[@]}" targets < <(ninja -C "$dir" -t targets all | sed -n "s/^\\($modules\\): phony\$/\\1/p" | grep -v feats)
  ninja -C "$dir" "${targets[@]}" >"$llama_prefix/$stage.log" 2>&1 \
    || { tail -n 40 "$llama_prefix/$stage.log" >&2; die "llama.cpp: build failed"; }
  mkdir -p "$llama_prefix/include/llama-common"
  ln -sfn build/bin "$llama_prefix/bin"
  cp "$src"/include/*.h "$src"/ggml/include/*.h "$src"/tools/mtmd/mtmd{,-helper}.h "$llama_prefix/include/"
  (cd "$src/common" && find . \( -name '*.h' -o -name '*.hpp' \) -exec cp --parents -t "$llama_prefix/include/llama-common" {} +)
  mkdir -p "$llama_prefix/include/llama-common/nlohmann"
  cp "$src"/vendor/nlohmann/*.hpp "$llama_prefix/include/llama-common/nlohmann/"
  touch "$llama_prefix/.$stage" "$llama_prefix/.libs"  # CMake asks for the second one
}

stage=${1:-libs}
mkdir -p "$llama_prefix"
exec 9>"$llama_prefix/.lock"
flock -n 9 || { say "Another run builds llama.cpp ($llama_prefix): waiting for it"; flock 9; }
[ -e "$llama_prefix/.libs-all" ] && variant=all || variant=$(cpu_variants "$(fetch_source)")
programs=no
[ "$stage" = tools ] || [ -e "$llama_prefix/.tools" ] && programs=yes
build "libs-$variant" "${libs[@]}"
[ "$stage" = tools ] && build tools "${tools[@]}"
printf '%s\n' "$llama_prefix"
