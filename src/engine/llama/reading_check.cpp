#include "engine/llama/reading_check.h"

#include <optional>

#include <ggml-backend.h>
#include <gguf.h>
#include <llama.h>

#include "engine/llama/backends.h"
#include "engine/llama/llama_log.h"
#include "engine/values/errors.h"

namespace corral::engine {

namespace {

// Loads the first part without weights, up to the vocabulary or to the tensors. None: no problem.
std::optional<std::string> problem_of_load(std::FILE* file, bool vocabulary_only) {
  const LogCapture log;
  auto params = llama_model_default_params();
  params.vocab_only = vocabulary_only;
  params.no_alloc = true;
  params.use_extra_bufts = false;
  params.load_mode = LLAMA_LOAD_MODE_NONE;
  std::rewind(file);
  auto* model = llama_model_load_from_file_ptr(file, params);
  if (model == nullptr) return std::string(log.text_or("libllama gave no reason"));
  llama_model_free(model);
  return std::nullopt;
}

}  // namespace

void prepare_reading(void (*on_abort)(const char* reason)) {
  install_llama_log();
  ggml_set_abort_callback(on_abort);
  ggml_time_init();
  // A layout needs a device, though nothing is computed.
  const LogCapture log;
  load_some_cpu();
}

Result<> check_reading_of_model(std::FILE* file, const std::string& name, std::size_t parts) {
  const auto refuse = [&](std::string_view why) {
    return std::unexpected(load_failed(errc::load_failed, {name, std::string(why)}));
  };
  const bool lays_out = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) != nullptr;
  const bool whole = parts == 1 && lays_out;
  if (const auto problem = problem_of_load(file, !whole)) return refuse(*problem);
  if (whole || !lays_out) return {};
  // libllama opens the other parts by name, which is not possible here. It reads up to the first missing tensor, which
  // is behind the parameters.
  const auto problem = problem_of_load(file, false);
  return problem && problem->contains("hyperparameters") ? refuse(*problem) : Result<>();
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
