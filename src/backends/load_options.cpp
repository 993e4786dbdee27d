#include "backends/load_options.h"

#include <functional>
#include <string_view>

namespace corral::backends {
namespace {

// Calls `visit` with every option of the structs, in order.
template <typename Visit, typename... Options>
void for_each_option(Visit visit, Options&... options) {
  visit(options.ctx_size...);
  visit(options.parallel...);
  visit(options.threads...);
  visit(options.gpu_layers...);
  visit(options.llamacpp_backend...);
  visit(options.speculative...);
  visit(options.draft_model...);
}

}  // namespace

LoadOptions merge(const LoadOptions& first, const LoadOptions& second) {
  LoadOptions merged = first;
  auto fill = [](auto& option, const auto& fallback) {
    if (!option) option = fallback;
  };
  for_each_option(fill, merged, second);
  return merged;
}

std::uint64_t fingerprint(const LoadOptions& options) {
  std::string text;
  auto append = [&text](const auto& option) {
    if constexpr (std::is_same_v<std::decay_t<decltype(option)>, std::optional<std::string>>) {
      text += option.value_or("\x01");
    } else {
      text += option ? std::to_string(*option) : "\x01";
    }
    text += '\0';
  };
  for_each_option(append, options);
  // FNV-1a, so that the value is the same in every build.
  std::uint64_t hash = 14695981039346656037ull;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

}  // namespace corral::backends
