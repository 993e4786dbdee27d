// Functions that libllama 0.5.0 exports but declares in no installed header. The version is checked at start
// (backends.h), so the signatures match.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <llama.h>

// Bytes in buffers of one type.
struct llama_memory_breakdown_data {
  std::size_t model = 0;
  std::size_t context = 0;
  std::size_t compute = 0;
};
using llama_memory_breakdown = std::map<ggml_backend_buffer_type_t, llama_memory_breakdown_data>;

LLAMA_API llama_memory_breakdown llama_get_memory_breakdown(const llama_context* context);
// The devices, other than the host, that a model uses.
LLAMA_API int32_t llama_model_n_devices(const llama_model* model);
LLAMA_API ggml_backend_dev_t llama_model_get_device(const llama_model* model, int index);
// Every weight by name; tied weights occur once for each use.
LLAMA_API const std::vector<std::pair<std::string, ggml_tensor*>>& llama_internal_get_tensor_map(
    const llama_model* model);

// What kinds of memory an architecture has, by its name in the file.
enum llm_arch : unsigned int;
LLAMA_API llm_arch llm_arch_from_string(const std::string& name);
LLAMA_API bool llm_arch_is_recurrent(const llm_arch& arch);
LLAMA_API bool llm_arch_is_hybrid(const llm_arch& arch);
