# Shared by every script: where things live and which versions are pinned. Sourced, never run.
# Sets: repo, cache, llama_version, llama_npm_version, llama_flags_id, llama_prefix, and the same of whisper.cpp.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/corral

llama_version=0.5.0            # the llama.cpp release that corral is written against
llama_npm_version=3.22.1       # the npm package node-llama-cpp that carries its full source as a git bundle
llama_npm_sha256=a0d9dd80eacd2ab1cfe71aee57ac8a806487fd70b3d2a38fbec637752d9e5c5f

whisper_version=1.9.1          # the whisper.cpp release whose server transcribes
whisper_npm_version=0.3.1      # the npm package nodejs-whisper that carries its source
whisper_npm_sha256=92041caf2b26c74b7f489fedf37bd093f216eebd61df512045ec2d19d0531d37

# What the dependency is built with. A change of any word gives a new folder in the cache.
llama_cmake_flags=(
  -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19
  -DBUILD_SHARED_LIBS=ON
  -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN'
  -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=ON -DGGML_OPENMP=ON -DGGML_RPC=ON
  -DLLAMA_BUILD_IS_DEV=OFF -DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF
  -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF
  -DMTMD_VIDEO=OFF  # it would run ffmpeg on what a client sends
)
# Packages (script/package) are for other machines: every CPU variant and Vulkan, without symbols and paths of this machine.
[ -z "${CORRAL_PACKAGE:-}" ] || llama_cmake_flags+=(-DGGML_VULKAN=ON -DCORRAL_PACKAGE=ON)
# For another architecture, CORRAL_TOOLCHAIN names a toolchain file of CMake. Without OpenMP: its package is for one architecture only.
[ -z "${CORRAL_TOOLCHAIN:-}" ] || llama_cmake_flags+=("-DCMAKE_TOOLCHAIN_FILE=$CORRAL_TOOLCHAIN" -DGGML_OPENMP=OFF)
# GPU backends are opt-in: CORRAL_LLAMA_GPU="cuda vulkan" adds them to the same set of libraries.
for gpu in ${CORRAL_LLAMA_GPU:-}; do
  case $gpu in
    cuda)   llama_cmake_flags+=(-DGGML_CUDA=ON) ;;
    vulkan) llama_cmake_flags+=(-DGGML_VULKAN=ON) ;;
    *) echo "CORRAL_LLAMA_GPU: unknown backend '$gpu' (known: cuda, vulkan)" >&2; exit 2 ;;
  esac
done
llama_flags_id=$(printf '%s\n' "${llama_cmake_flags[@]}" "$llama_npm_version" | sha256sum | cut -c1-8)
llama_prefix=$cache/llama-$llama_version-$llama_flags_id
whisper_prefix=$cache/whisper-$whisper_version-$(printf '%s\n' "$whisper_npm_version" "$llama_flags_id" | sha256sum | cut -c1-8)

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
