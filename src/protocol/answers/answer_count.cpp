#include "protocol/answers/answer_count.h"

#include <algorithm>
#include <charconv>

namespace corral::protocol {
namespace {

// Token counts are at the beginning or the end of an answer.
constexpr std::size_t kEnd = 4'096;
constexpr std::string_view kUsage = R"("usage")";

// What follows a member's name and ':'; nothing: no ':' follows.
std::string_view value_behind(std::string_view text) {
  const auto skip = [&] { text.remove_prefix(std::min(text.find_first_not_of(' '), text.size())); };
  skip();
  if (!text.starts_with(':')) return {};
  text.remove_prefix(1);
  skip();
  return text;
}

// Whether a member with such an end of its name has a text that isn't empty.
bool has_text(std::string_view event, std::string_view name) {
  for (auto at = event.find(name); at != std::string_view::npos; at = event.find(name, at + name.size())) {
    const auto value = value_behind(event.substr(at + name.size()));
    if (value.size() > 1 && value[0] == '"' && value[1] != '"') return true;
  }
  return false;
}

// True for reasoning_content, too, and for tool calls.
bool says(std::string_view event) {
  return has_text(event, R"(content")") || has_text(event, R"("text")") || has_text(event, R"("arguments")");
}

bool has_object(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  return at != std::string_view::npos && value_behind(text.substr(at + name.size())).starts_with('{');
}

// The number after the last member of that name.
std::optional<std::uint64_t> number(std::string_view text, std::string_view name) {
  const auto at = text.rfind(name);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = value_behind(text.substr(at + name.size()));
  std::uint64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

void update(std::optional<std::uint64_t>& into, std::optional<std::uint64_t> value) {
  if (value) into = value;
}

}  // namespace

bool AnswerCount::feed(std::string_view events) {
  constexpr std::string_view kBegin = "data: {", kBehind = "\n\n";
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
  const bool text = says(event);
  if (text) ++pieces_;
  // Timings come with each piece, if the client wants them; only the last ones count.
  if (!text || has_object(event, kUsage)) numbers(event);
}

void AnswerCount::whole(std::string_view body) {
  numbers(body.size() > kEnd ? body.substr(body.size() - kEnd) : body);
  if (body.size() > kEnd && !told_.prompt) numbers(body.substr(0, kEnd));
}

void AnswerCount::numbers(std::string_view text) {
  if (has_object(text, kUsage)) {
    has_usage_ = true;
    update(told_.prompt, number(text, R"("prompt_tokens")"));
    update(told_.cached, number(text, R"("cached_tokens")"));
    update(told_.output, number(text, R"("completion_tokens")"));
    return;
  }
  if (has_usage_ && told_.output.value_or(0) > 0) return;
  // Each of several answers ends with its own counts.
  const auto output = number(text, R"("predicted_n")");
  if (!output) return;
  timed_ = timed_.value_or(0) + *output;
  const auto cached = number(text, R"("cache_n")"), computed = number(text, R"("prompt_n")");
  update(told_.cached, cached);
  if (computed) told_.prompt = cached.value_or(0) + *computed;
}

AnswerTokens AnswerCount::tokens() const {
  auto told = told_;
  if (timed_ && told.output.value_or(0) == 0) told.output = timed_;
  if (pieces_ > 0 && told.output.value_or(0) == 0) told.output = pieces_;
  return told;
}

}  // namespace corral::protocol
