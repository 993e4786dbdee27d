#include "backends/load_options.h"

#include <charconv>
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
  visit(options.lora...);
  visit(options.speculative...);
  visit(options.draft_model...);
  visit(options.park_bytes...);
  visit(options.park_dir...);
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
    using Value = typename std::decay_t<decltype(option)>::value_type;
    if (!option) {
      text += '\x01';
    } else if constexpr (std::is_same_v<Value, std::string>) {
      text += *option;
    } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
      for (const auto& item : *option) text.append(item).push_back('\x02');
    } else {
      text += std::to_string(*option);
    }
    text += '\0';
  };
  for_each_option(append, options);
  // FNV-1a, so that the value is the same in every build.
  std::uint64_t hash = 14695981039346656037ull;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

LoraFile parse_lora(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    float scale = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, scale);
    if (error == std::errc() && stop == end) return {std::filesystem::path(text.substr(0, colon)), scale};
  }
  return {std::filesystem::path(text), 1};
}

}  // namespace corral::backends
