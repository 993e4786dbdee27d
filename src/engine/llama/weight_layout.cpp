#include "engine/llama/weight_layout.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include <gguf.h>

#include "engine/llama/llama_internal.h"

namespace corral::engine {
namespace {

bool cpu_has_amx() {
  const ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  if (cpu == nullptr) return false;
  const auto extra_types = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), "ggml_backend_dev_get_extra_bufts"));
  if (extra_types == nullptr) return false;
  for (ggml_backend_buffer_type_t* type = extra_types(cpu); type != nullptr && *type != nullptr; ++type) {
    if (std::string_view(ggml_backend_buft_name(*type)) == "AMX") return true;
  }
  return false;
}

bool has_state(const std::string& path) {
  const std::unique_ptr<gguf_context, decltype(&gguf_free)> file(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}), gguf_free);
  if (!file) return false;  // the load will report it
  const std::int64_t key = gguf_find_key(file.get(), "general.architecture");
  if (key < 0 || gguf_get_kv_type(file.get(), key) != GGUF_TYPE_STRING) return false;
  const llm_arch arch = llm_arch_from_string(gguf_get_val_str(file.get(), key));
  return llm_arch_is_recurrent(arch) || llm_arch_is_hybrid(arch);
}

}  // namespace

WeightFacts weight_facts(const std::string& path) {
  WeightFacts facts{.amx = cpu_has_amx()};
  facts.state = facts.amx && has_state(path);  // only needed with AMX; reading a large vocabulary takes time
  return facts;
}

}  // namespace corral::engine
