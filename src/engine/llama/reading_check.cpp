#include "engine/llama/reading_check.h"

#include <gguf.h>
#include <llama.h>

#include "engine/llama/llama_log.h"
#include "engine/values/errors.h"

namespace corral::engine {

void prepare_reading(void (*on_abort)(const char* reason)) {
  install_llama_log();
  ggml_set_abort_callback(on_abort);
  ggml_time_init();
}

Result<> check_reading_of_model(std::FILE* file, const std::string& name) {
  const LogCapture log;
  auto params = llama_model_default_params();
  params.vocab_only = true;
  params.load_mode = LLAMA_LOAD_MODE_NONE;
  auto* model = llama_model_load_from_file_ptr(file, params);
  if (model == nullptr)
    return std::unexpected(load_failed(errc::load_failed, {name, log.text_or("libllama gave no reason")}));
  llama_model_free(model);
  return {};
}

Result<> check_reading_of_header(std::FILE* file, const std::string& name) {
  const LogCapture log;
  ggml_context* tensors = nullptr;
  auto* header = gguf_init_from_file_ptr(file, {.no_alloc = true, .ctx = &tensors});
  if (header == nullptr)
    return std::unexpected(load_failed(errc::load_failed, {name, log.text_or("ggml gave no reason")}));
  gguf_free(header);
  ggml_free(tensors);
  return {};
}

}  // namespace corral::engine
