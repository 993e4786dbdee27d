#include "config/load/ollama_options.h"

#include <utility>

namespace corral::config {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNamesOfOllama[] = {
    {"num_ctx", "ctx_size"},  {"num_gpu", "gpu_layers"}, {"num_thread", "threads"},
    {"main_gpu", "main_gpu"}, {"use_mmap", "mmap"},      {"use_mlock", "mlock"},
};

}  // namespace

LoadOptions options_of_ollama(std::string_view params) {
  LoadOptions options;
  if (params.empty()) return options;
  const auto root = json::parse(params);
  if (!root || !root->is_object()) return options;
  for (const auto& [theirs, ours] : kNamesOfOllama) {
    const json::Value* const value = json::find(*root, theirs);
    const LoadOption* const option = find_load_option(ours);
    if (!value || !option) continue;
    LoadOptions with = options;
    if (read(*option, *value, with) && check(with)) options = std::move(with);
  }
  return options;
}

}  // namespace corral::config
