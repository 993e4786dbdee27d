#include "protocol/answers/answer_count.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace corral::protocol {
namespace {

// Token counts are at the beginning or the end of an answer.
constexpr std::size_t kEnd = 4'096;
constexpr std::string_view kSpaces = " \t\r\n";

// The text behind the ':' of a member whose name ends before `at`; empty: no ':' follows.
std::string_view value_at(std::string_view text, std::size_t at) {
  const auto colon = text.find_first_not_of(kSpaces, at);
  if (colon == std::string_view::npos || text[colon] != ':') return {};
  return text.substr(std::min(text.find_first_not_of(kSpaces, colon + 1), text.size()));
}

// Whether a member with such an end of its name has a text that isn't empty.
bool has_text(std::string_view event, std::string_view name) {
  for (auto at = event.find(name); at != std::string_view::npos; at = event.find(name, at + name.size())) {
    const auto value = value_at(event, at + name.size());
    if (value.size() > 1 && value[0] == '"' && value[1] != '"') return true;
  }
  return false;
}

// True for reasoning_content, too, and for tool calls.
bool has_output(std::string_view event) {
  for (const std::string_view name : {R"(content")", R"("text")", R"("reasoning")", R"("arguments")"}) {
    if (has_text(event, name)) return true;
  }
  return false;
}

// From the last "usage" on that is an object; empty: there is none.
std::string_view usage_in(std::string_view text) {
  constexpr std::string_view kUsage = R"("usage")";
  for (auto at = text.rfind(kUsage); at != std::string_view::npos; at = text.rfind(kUsage, at - 1)) {
    const auto value = value_at(text, at + kUsage.size());
    if (value.starts_with('{')) return value;
    if (at == 0) break;
  }
  return {};
}

// The number that is the first member of this name.
template <typename Number>
std::optional<Number> number(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = value_at(text, at + name.size());
  Number value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}
std::optional<std::uint64_t> count(std::string_view text, std::string_view name) {
  return number<std::uint64_t>(text, name);
}

template <typename Number>
void update(std::optional<Number>& into, std::optional<Number> value) {
  if (value) into = value;
}

}  // namespace

bool AnswerCount::feed(std::string_view events) {
  constexpr std::string_view kBegin = "data:", kBehind = "\n\n";
  const auto before = pieces_;
  while (!events.empty()) {
    const auto end = events.find(kBehind);
    const auto event = events.substr(0, end);
    if (event.starts_with(kBegin)) take(event);
    if (end == std::string_view::npos) break;
    events.remove_prefix(end + kBehind.size());
  }
  return before == 0 && pieces_ > 0;
}

void AnswerCount::take(std::string_view event) {
  const bool text = has_output(event);
  if (text) ++pieces_;
  // Timings come with each piece, if the client wants them; only the last ones count.
  if (!text || !usage_in(event).empty()) numbers(event);
}

void AnswerCount::whole(std::string_view body) {
  numbers(body.size() > kEnd ? body.substr(body.size() - kEnd) : body);
  if (body.size() > kEnd && !reported_.prompt) numbers(body.substr(0, kEnd));
}

void AnswerCount::numbers(std::string_view text) {
  if (const auto rate = number<double>(text, R"("predicted_per_second")"); rate && *rate > 0 && std::isfinite(*rate))
    reported_.per_second = rate;
  if (const auto usage = usage_in(text); !usage.empty()) {
    has_usage_ = true;
    update(reported_.prompt, count(usage, R"("prompt_tokens")"));
    update(reported_.prompt, count(usage, R"("input_tokens")"));
    update(reported_.cached, count(usage, R"("cached_tokens")"));
    update(reported_.output, count(usage, R"("completion_tokens")"));
    update(reported_.output, count(usage, R"("output_tokens")"));
    return;
  }
  if (has_usage_ && reported_.output.value_or(0) > 0) return;
  // Each of several answers ends with its own counts.
  const auto output = count(text, R"("predicted_n")");
  if (!output) return;
  timed_ = timed_.value_or(0) + *output;
  const auto cached = count(text, R"("cache_n")"), computed = count(text, R"("prompt_n")");
  update(reported_.cached, cached);
  if (computed) reported_.prompt = cached.value_or(0) + *computed;
}

AnswerTokens AnswerCount::tokens() const {
  auto result = reported_;
  if (timed_ && result.output.value_or(0) == 0) result.output = timed_;
  if (pieces_ > 0 && result.output.value_or(0) == 0) result.output = pieces_;
  return result;
}

}  // namespace corral::protocol
