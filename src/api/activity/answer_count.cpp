#include "api/activity/answer_count.h"

#include <array>
#include <charconv>

namespace corral::api {
namespace {

// Token counts are at the beginning or the end of an answer.
constexpr std::size_t kEnd = 4'096;

bool has_text(std::string_view event, std::string_view member) {
  for (auto at = event.find(member); at != std::string_view::npos; at = event.find(member, at + member.size())) {
    const auto first = at + member.size();
    if (first < event.size() && event[first] != '"') return true;
  }
  return false;
}

// True for reasoning_content, too, and for tool calls.
bool says(std::string_view event) {
  return has_text(event, R"(content":")") || has_text(event, R"("text":")") || has_text(event, R"("arguments":")");
}

// The number after the last `member`.
std::optional<std::uint64_t> number(std::string_view text, std::string_view member) {
  const auto at = text.rfind(member);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = text.substr(at + member.size());
  std::uint64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

void take(std::optional<std::uint64_t>& into, std::optional<std::uint64_t> value) {
  if (value) into = value;
}

}  // namespace

bool AnswerCount::feed(std::string_view events) {
  constexpr std::string_view kBegin = "data: {", kBehind = "\n\n";
  const auto before = pieces_;
  while (!events.empty()) {
    const auto end = events.find(kBehind);
    const auto event = events.substr(0, end);
    if (event.starts_with(kBegin)) says(event) ? void(++pieces_) : numbers(event);
    if (end == std::string_view::npos) break;
    events.remove_prefix(end + kBehind.size());
  }
  return before == 0 && pieces_ > 0;
}

void AnswerCount::whole(std::string_view body) {
  numbers(body.size() > kEnd ? body.substr(body.size() - kEnd) : body);
  if (body.size() > kEnd && !told_.prompt) numbers(body.substr(0, kEnd));
}

void AnswerCount::numbers(std::string_view text) {
  if (text.contains(R"("usage":{)")) {
    has_usage_ = true;
    take(told_.prompt, number(text, R"("prompt_tokens":)"));
    take(told_.cached, number(text, R"("cached_tokens":)"));
    take(told_.output, number(text, R"("completion_tokens":)"));
    return;
  }
  if (has_usage_ && told_.output.value_or(0) > 0) return;
  // Each of several answers ends with its own counts.
  const auto output = number(text, R"("predicted_n":)");
  if (!output) return;
  timed_ = timed_.value_or(0) + *output;
  const auto cached = number(text, R"("cache_n":)"), computed = number(text, R"("prompt_n":)");
  take(told_.cached, cached);
  if (computed) told_.prompt = cached.value_or(0) + *computed;
}

AnswerTokens AnswerCount::tokens() const {
  auto told = told_;
  if (timed_ && told.output.value_or(0) == 0) told.output = timed_;
  if (pieces_ > 0 && told.output.value_or(0) == 0) told.output = pieces_;
  return told;
}

}  // namespace corral::api
