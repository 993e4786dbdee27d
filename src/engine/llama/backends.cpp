#include "engine/llama/backends.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <llama.h>
#include <stdlib.h>

#include "engine/llama/llama_log.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

std::string backend_directory() {
  if (const char* given = getenv("CORRAL_LLAMA_BACKEND_DIR"); given != nullptr && *given != '\0') return given;
#ifdef CORRAL_PRIVATE_LLAMA
  // Beside the library that loads them, wherever the program was moved with it.
  Dl_info found{};
  const auto* const loader = reinterpret_cast<const void*>(&ggml_backend_load_all_from_path);
  if (::dladdr(loader, &found) != 0 && found.dli_fname != nullptr)
    return std::filesystem::path(found.dli_fname).parent_path().lexically_normal();
#endif
  return {};  // an installed ggml knows its folder
}

// False: nothing was loaded, and all variants must be tried.
bool load_remembered(const std::filesystem::path& directory) {
  const char* const file = getenv("CORRAL_CPU_BACKEND");
  if (file == nullptr || getenv("GGML_BACKEND_PATH") != nullptr) return false;
  std::error_code failed;
  if (!std::filesystem::equivalent(std::filesystem::path(file).parent_path(), directory, failed)) return false;
  std::vector<std::string> others;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("libggml-") || entry.path().extension() != ".so") continue;
    if (name.starts_with("libggml-cpu") || name == "libggml-base.so") continue;
    if (name != "libggml-rpc.so") return false;  // a GPU's: only ggml knows the order of loading
    others.push_back(entry.path());
  }
  if (failed || ggml_backend_load(file) == nullptr) return false;
  for (const std::string& other : others) ggml_backend_load(other.c_str());
  return true;
}

bool has_cpu() { return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) != nullptr; }

Result<> load_once(std::string directory) {
  // A failed assertion in libllama would start a debugger to print its stack; the message alone is enough.
  setenv("GGML_NO_BACKTRACE", "1", 0);
  install_llama_log();
  const std::string_view built = built_for_llama_version(), running = running_llama_version();
  if (running != built && !running.starts_with(std::string(built) + "-")) {
    return fail(errc::version_mismatch,
                fmt::format("this program was built for llama.cpp {}, but the loaded library is {}: "
                            "install the matching version or rebuild",
                            built, running));
  }
  if (directory.empty()) directory = backend_directory();
  const LogCapture log;
  if (directory.empty()) {
    if (!has_cpu()) ggml_backend_load_all();
  } else if (!load_remembered(directory)) {
    ggml_backend_load_all_from_path(directory.c_str());
  }
  if (!has_cpu()) {
    return fail(errc::load_failed,
                fmt::format("no compute backend found in '{}' (set CORRAL_LLAMA_BACKEND_DIR to the folder with "
                            "libggml-cpu-*.so): {}",
                            directory, log.text()));
  }
  llama_backend_init();
  return {};
}

}  // namespace

bool load_some_cpu() {
  if (has_cpu()) return true;
  std::vector<std::filesystem::path> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(backend_directory(), failed)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("libggml-cpu") && entry.path().extension() == ".so") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return std::ranges::any_of(found, [](const auto& file) { return ggml_backend_load(file.c_str()) != nullptr; }) &&
         has_cpu();
}

std::string_view built_for_llama_version() { return CORRAL_LLAMA_VERSION; }
std::string_view running_llama_version() { return llama_version(); }

Result<> load_backends(std::string directory) {
  // ggml's registry is per process, and so is this state.
  static std::once_flag once;
  static Result<> outcome;
  std::call_once(once, [&] { outcome = load_once(std::move(directory)); });
  return outcome;
}

std::string cpu_backend_file() {
  const ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  Dl_info found{};
  if (device == nullptr || ::dladdr(ggml_backend_dev_backend_reg(device), &found) == 0) return {};
  const std::string_view file = found.dli_fname == nullptr ? "" : found.dli_fname;
  return file.contains("ggml-cpu-") ? std::string(file) : std::string();
}

ComputeDevice describe(ggml_backend_dev_t device) {
  ggml_backend_dev_props props{};
  ggml_backend_dev_get_props(device, &props);
  return {.name = props.name,
          .description = props.description,
          .gpu = props.type == GGML_BACKEND_DEVICE_TYPE_GPU || props.type == GGML_BACKEND_DEVICE_TYPE_IGPU,
          .memory_total = props.memory_total,
          .memory_free = props.memory_free};
}

}  // namespace corral::engine
