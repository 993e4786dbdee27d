#include "config/load/request_defaults.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "config/errors.h"
#include "json/peek.h"
#include "protocol/fields.h"

namespace corral::config {
namespace {

// Fields that belong to a single request.
constexpr std::string_view kNoDefaults[] = {"model", "messages", "prompt", "input", "content", "stream", "ctx_size"};

Result<> check_field(std::string_view name, json::View value, std::string_view param) {
  const auto wrong = [param](std::string text) {
    return fail(errc::invalid_value, std::move(text), std::string(param));
  };
  if (name == "system")
    return value.is_string() ? Result<>() : wrong(fmt::format("'system' must be a string, not {}", value.excerpt()));
  if (std::ranges::find(kNoDefaults, name) != std::end(kNoDefaults))
    return wrong(fmt::format("'{}' must be set in each request", name));
  for (const auto* table :
       {&protocol::chat_fields(), &protocol::native_fields(), &protocol::native_embedding_fields()}) {
    const auto* field = table->find(name);
    if (field == nullptr) continue;
    const protocol::Path root;
    auto fine = protocol::check_value(value, *field, {&root, name});
    return fine ? Result<>() : wrong(fine.error().message);
  }
  return wrong(fmt::format("requests have no field '{}'", name));
}

}  // namespace

Result<> check_request_defaults(const std::string& text) { return check_request_defaults(text, "request_defaults"); }

Result<> check_request_defaults(std::string_view text, std::string_view param) {
  if (text.empty()) return {};
  const auto peek = json::Peek::open(std::string(text));
  if (!peek || !peek->root().is_object())
    return fail(errc::invalid_value, fmt::format("'{}' is not a JSON object", text), std::string(param));
  Result<> fine;
  peek->root().each_member([&](std::string_view name, json::View value) {
    fine = check_field(name, value, param);
    return fine.has_value();
  });
  return fine;
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    auto name = text.substr(begin, end - begin);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
    begin = end + 1;
  }
  return names;
}

}  // namespace corral::config
