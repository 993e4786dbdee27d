#include "router/instances/plain_request.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/context_size.h"
#include "json/peek.h"

namespace corral::router {
namespace {

// For one input of an embedding or a reranking.
constexpr std::uint64_t kMaxPooled = 2048;
// Tokens that a template adds to the messages.
constexpr std::uint64_t kTemplate = 512;

constexpr auto kHarmless = std::to_array<std::string_view>({"model",
                                                            "stream",
                                                            "stream_options",
                                                            "temperature",
                                                            "top_p",
                                                            "top_k",
                                                            "min_p",
                                                            "seed",
                                                            "max_tokens",
                                                            "max_completion_tokens",
                                                            "n",
                                                            "stop",
                                                            "user",
                                                            "frequency_penalty",
                                                            "presence_penalty",
                                                            "repeat_penalty",
                                                            "cache_prompt",
                                                            "encoding_format",
                                                            "keep_alive",
                                                            "sse_ping_interval",
                                                            "ctx_size",
                                                            "top_n",
                                                            "return_documents"});

bool is_text(json::View value) { return value.is_string() && !value.as_string().empty(); }

bool are_texts(json::View value) {
  if (!value.is_array()) return is_text(value);
  bool plain = !value.empty();
  value.each_element([&](json::View element) { return plain = plain && is_text(element); });
  return plain;
}

// An optional system message, then user and assistant in turns, the user last. Some templates reject other orders.
bool is_ordinary_chat(json::View messages) {
  if (!messages.is_array()) return false;
  bool plain = true, first = true;
  std::string_view before = "assistant";
  messages.each_element([&](json::View message) {
    const auto role = message.find("role").as_string();
    const bool system = first && role == "system";
    first = false;
    std::size_t members = 0;
    message.each_member([&](std::string_view, json::View) { ++members; });
    plain = plain && message.is_object() && members == 2 && is_text(message.find("content")) &&
            (system || ((role == "user" || role == "assistant") && role != before));
    if (!system) before = role == "user" ? "user" : "assistant";
    return plain;
  });
  return plain && before == "user";
}

}  // namespace

std::uint64_t context_at_least(const LoadSpec& spec) {
  const auto asked = std::min(spec.load_options.ctx_size.value_or(-1), backends::context_of_request(spec.load_options));
  const auto trained = spec.model->traits.context_length;
  const auto first = static_cast<std::uint64_t>(kFirstContext);
  const std::uint64_t max = asked > 0 ? static_cast<std::uint64_t>(asked) : first;
  return std::min(max, trained == 0 ? first : trained);
}

bool is_plain(const AskedRequest& asked, std::uint64_t context) {
  using protocol::Ask;
  const bool pooled = asked.ask == Ask::embedding || asked.ask == Ask::rerank;
  if (asked.ask != Ask::chat && asked.ask != Ask::completion && !pooled) return false;
  // A token has at least one byte.
  if (asked.body.size() + kTemplate > (pooled ? std::min(context, kMaxPooled) : context)) return false;
  const auto peek = json::Peek::open(asked.body);
  if (!peek || !peek->root().is_object()) return false;
  bool plain = true;
  peek->root().each_member([&](std::string_view name, json::View value) {
    if (name == "messages") {
      plain = asked.ask == Ask::chat && is_ordinary_chat(value);
    } else if (name == "prompt") {
      plain = asked.ask == Ask::completion && are_texts(value);
    } else if (name == "input" || name == "documents" || name == "query") {
      plain = pooled && are_texts(value);
    } else {
      plain = std::ranges::find(kHarmless, name) != kHarmless.end();
    }
    return plain;
  });
  return plain;
}

}  // namespace corral::router
