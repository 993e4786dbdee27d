#include "proc/environment.h"

#include <algorithm>
#include <string_view>

namespace corral::proc {
namespace {

constexpr std::string_view kNames[] = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "GLIBC_TUNABLES",
    "DRI_PRIME",
    "ASAN_OPTIONS",
    "LSAN_OPTIONS",
    "TSAN_OPTIONS",
    "UBSAN_OPTIONS",
    "CORRAL_LLAMA_BACKEND_DIR",
};

// Prefixes of whole families: libraries, devices, threads. CORRAL_ENGINE_ is for wrappers of our engine.
constexpr std::string_view kBeginnings[] = {
    "LC_",    "XDG_", "LD_",  "MALLOC_", "CUDA_",     "NVIDIA_", "NCCL_",          "HIP_", "ROCR_", "ROCM_",   "HSA_",
    "AMD_",   "GPU_", "VK_",  "MESA_",   "RADV_",     "ANV_",    "LIBGL_",         "ZE_",  "SYCL_", "ONEAPI_", "GGML_",
    "LLAMA_", "OMP_", "KMP_", "GOMP_",   "OPENBLAS_", "MKL_",    "CORRAL_ENGINE_",
};

constexpr std::string_view kSecrets[] = {"TOKEN", "KEY", "SECRET", "PASSW", "CREDENTIAL", "AUTH"};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; }

}  // namespace

bool is_inherited(std::string_view name) {
  std::string folded(name);
  std::ranges::transform(folded, folded.begin(), upper);
  if (std::ranges::any_of(kSecrets, [&](std::string_view word) { return folded.contains(word); })) return false;
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

std::vector<std::string> child_environment(const char* const* ours,
                                           const std::map<std::string, std::optional<std::string>>& changes) {
  std::vector<std::string> result;
  for (; *ours; ++ours) {
    const std::string_view entry(*ours);
    const auto name = entry.substr(0, entry.find('='));
    if (is_inherited(name) && !changes.contains(std::string(name))) result.emplace_back(entry);
  }
  for (const auto& [name, value] : changes) {
    if (value) result.push_back(name + "=" + *value);
  }
  return result;
}

}  // namespace corral::proc
