#!/usr/bin/env bash
# Builds whisper.cpp's server once per machine into the cache, over the ggml of llama.sh; later runs return at once.
#   script/lib/whisper.sh    prints the program; the next script/build links it into lib/corral, where corral looks for it
# The source is the npm package that carries it whole, pinned like llama.cpp's.
set -euo pipefail; shopt -s inherit_errexit
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

prefix=$whisper_prefix
program=$prefix/bin/whisper-server

fetch_source() {
  local src=$cache/whisper-src-$whisper_version
  if [ ! -e "$src/.complete" ]; then
    say "Fetching the source of whisper.cpp $whisper_version"
    local work; work=$(mktemp -d "$cache/fetch.XXXXXX")
    local tarball; tarball=$(cd "$work" && npm pack --silent "nodejs-whisper@$whisper_npm_version")
    printf '%s  %s\n' "$whisper_npm_sha256" "$work/$tarball" | sha256sum --check --status \
      || die "nodejs-whisper $whisper_npm_version: the package is not the pinned one (sha256 differs)"
    tar -xzf "$work/$tarball" -C "$work" package/cpp/whisper.cpp
    rm -rf "$src"
    mv "$work/package/cpp/whisper.cpp" "$src"
    rm -rf "$work"
    touch "$src/.complete"
  fi
  printf '%s' "$src"
}

# whisper.cpp takes a target `ggml` that is there already instead of its own copy.
write_wrapper() {  # write_wrapper SOURCE LLAMA
  cat >"$prefix/wrapper/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(whisper_over_ggml C CXX)
add_library(ggml-base SHARED IMPORTED GLOBAL)
set_target_properties(ggml-base PROPERTIES IMPORTED_LOCATION "$2/bin/libggml-base.so")
add_library(ggml SHARED IMPORTED GLOBAL)
set_target_properties(ggml PROPERTIES IMPORTED_LOCATION "$2/bin/libggml.so" INTERFACE_INCLUDE_DIRECTORIES "$2/include"
                                      INTERFACE_LINK_LIBRARIES ggml-base)
if(CORRAL_PACKAGE)
  add_compile_options("-ffile-prefix-map=$1=whisper.cpp" "-ffile-prefix-map=$2=llama.cpp")
  add_link_options(LINKER:--strip-all)
endif()
set(WHISPER_BUILD_EXAMPLES ON CACHE BOOL "")
set(WHISPER_BUILD_SERVER ON CACHE BOOL "")
set(WHISPER_BUILD_TESTS OFF CACHE BOOL "")
add_subdirectory("$1" whisper EXCLUDE_FROM_ALL)
CMAKE
}

[ -e "$prefix/.complete" ] || {
  mkdir -p "$prefix/wrapper" "$prefix/bin"
  exec 9>"$prefix/.lock"
  flock -n 9 || { say "Another run builds whisper.cpp ($prefix): waiting for it"; flock 9; }
  if [ ! -e "$prefix/.complete" ]; then
    llama=$("$repo/script/lib/llama.sh" libs)
    source_dir=$(fetch_source)
    write_wrapper "$source_dir" "$llama"
    launcher=()
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    say "Building whisper.cpp $whisper_version: half a minute, once per machine"
    cmake -S "$prefix/wrapper" -B "$prefix/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
      -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 "-DCMAKE_BUILD_RPATH=\$ORIGIN" -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
      '-DCMAKE_INSTALL_RPATH=$ORIGIN' "-DCORRAL_PACKAGE=${CORRAL_PACKAGE:-0}" "${launcher[@]}" >"$prefix/configure.log" 2>&1 \
      || { tail -n 30 "$prefix/configure.log" >&2; die "whisper.cpp: configure failed"; }
    ninja -C "$prefix/build" whisper-server >"$prefix/build.log" 2>&1 \
      || { tail -n 40 "$prefix/build.log" >&2; die "whisper.cpp: build failed"; }
    # ggml looks for its compute backends beside the program.
    ln -sfn "$llama"/bin/libggml*.so* "$prefix/bin/"
    found=$(find "$prefix/build" -type f -name whisper-server -perm -u+x | head -n 1)
    install -m 0755 "$found" "$program"
    rm -rf "$prefix/build"
    touch "$prefix/.complete"
  fi
}
printf '%s\n' "$program"
