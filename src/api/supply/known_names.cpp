#include "api/supply/known_names.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/supply/supply.h"
#include "base/close_names.h"
#include "base/shell_word.h"
#include "downloads/errors.h"
#include "models/text.h"

namespace corral::api {
namespace {

constexpr std::size_t kMaxHints = 3;

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.';
  });
}

// "llama3.2:1b", as in Ollama's library.
bool has_tag(std::string_view name) {
  const auto colon = name.find(':');
  return colon != name.npos && is_word(name.substr(0, colon)) && is_word(name.substr(colon + 1));
}

}  // namespace

std::string source_of(const SupplyContext& context, std::string name) {
  if (context.supply == nullptr || name.find('/') != name.npos) return name;
  const auto* known = context.supply->known.find(name);
  return known != nullptr ? known->source() : name;
}

std::optional<ModelType> known_type(const SupplyContext& context, std::string_view name) {
  if (context.supply == nullptr) return std::nullopt;
  for (const auto& model : context.supply->known.models)
    if (model.source() == name) return model.type;
  const auto* known = context.supply->known.find(name);
  return known != nullptr ? std::optional(known->type) : std::nullopt;
}

Error with_way_on(const SupplyContext& context, Error error, std::string_view name) {
  const bool plain = is_word(name), tagged = has_tag(name);
  if (error.code != downloads::errc::bad_name || (!plain && !tagged)) return error;
  std::vector<std::string> candidates;
  for (const auto& model : context.supply->known.models) candidates.push_back(model.name);
  auto close = close_names(name, candidates, kMaxHints);
  for (auto& one : close) one = fmt::format("'{}'", one);
  const auto shown = models::printable(name, 128);
  error.message = fmt::format("'{}' is not a model to download, and not a known name.", shown);
  if (!close.empty()) error.message += fmt::format(" Did you mean {}?", fmt::join(close, " or "));
  if (tagged) error.message += fmt::format(" For a model of Ollama's library: ollama.com/library/{}.", shown);
  error.message += fmt::format(" Search with: corral search {}. Or name a repository: org/repo:QUANT.",
                               shell_word(shown.substr(0, shown.find(':'))));
  return error;
}

}  // namespace corral::api
