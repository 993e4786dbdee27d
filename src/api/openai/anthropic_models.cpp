#include "api/openai/anthropic_models.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "http/message.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

constexpr std::size_t kMaxListed = 1000;

void write(json::Writer& out, const AnthropicModel& model) {
  out.begin_object().field("type", "model").field("id", model.id).field("display_name", model.id);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(model.created);
  out.field("created_at", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", seconds));
  for (const auto* name : {"max_input_tokens", "max_tokens"}) {
    out.key(name);
    model.context > 0 ? out.value(model.context) : out.null();
  }
  out.field("lifecycle", "active");
  for (const auto* name : {"capabilities", "deprecated_at", "retires_at", "line"}) out.key(name).null();
  out.end_object();
}

Result<std::size_t> limit_of(std::string_view query) {
  const auto text = http::query_value(query, "limit");
  if (!text) return kMaxListed;
  std::size_t limit = 0;
  const auto* const end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, limit);
  if (parsed.ec == std::errc() && parsed.ptr == end && limit >= 1 && limit <= kMaxListed) return limit;
  return fail(protocol::errc::bad_value,
              fmt::format("'limit' must be an integer between 1 and {}, not \"{}\"", kMaxListed, text->substr(0, 60)),
              "limit");
}

}  // namespace

std::string anthropic_model(const AnthropicModel& model) {
  std::string text;
  json::Writer out(text);
  write(out, model);
  return text;
}

Result<std::string> anthropic_models(std::span<const AnthropicModel> all, std::string_view query) {
  const auto limit = limit_of(query);
  if (!limit) return std::unexpected(limit.error());
  auto page = all;
  bool more = false;
  // If the named model is gone: the list from its beginning, or to its end.
  const auto place_of = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto id = http::query_value(query, name);
    if (!id) return std::nullopt;
    const auto found = std::ranges::find(all, *id, &AnthropicModel::id);
    return found == all.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - all.begin()));
  };
  if (const auto before = place_of("before_id")) {
    page = all.first(*before);
    more = page.size() > *limit;
    page = page.last(std::min(page.size(), *limit));
  } else {
    if (const auto after = place_of("after_id")) page = all.subspan(*after + 1);
    more = page.size() > *limit;
    page = page.first(std::min(page.size(), *limit));
  }
  std::string text;
  json::Writer out(text);
  out.begin_object().key("data").begin_array();
  for (const auto& model : page) write(out, model);
  out.end_array().field("has_more", more);
  out.key("first_id");
  page.empty() ? out.null() : out.value(page.front().id);
  out.key("last_id");
  page.empty() ? out.null() : out.value(page.back().id);
  out.end_object();
  return text;
}

}  // namespace corral::api
