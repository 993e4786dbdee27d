#include "backends/external/answer_usage.h"

#include <algorithm>

#include "json/peek.h"

namespace corral::backends {
namespace {

constexpr std::size_t kHead = 4 * 1024, kTail = 16 * 1024;
constexpr int kTries = 8;  // keys of this name that are looked at

// In a JSON text a quote inside a string has a backslash before it, so a quoted name can't be found there.
constexpr std::string_view kUsage = "\"usage\"", kTimings = "\"timings\"";

std::size_t behind_space(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

// The start of a member's value, for a name that ends before `at`; npos: it is no name.
std::size_t value_at(std::string_view text, std::size_t at) {
  at = behind_space(text, at);
  if (at == text.size() || text[at] != ':') return std::string_view::npos;
  return behind_space(text, at + 1);
}

// The object that begins at `at`; empty: it has no end.
std::string_view object_at(std::string_view text, std::size_t at) {
  bool quoted = false;
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == '{') {
      ++depth;
    } else if (!quoted && c == '}' && --depth == 0) {
      return text.substr(at, i + 1 - at);
    }
  }
  return {};
}

// The last object with this name.
std::string_view object_named(std::string_view text, std::string_view name) {
  auto at = text.rfind(name);
  for (int tries = 0; at != text.npos && tries < kTries; ++tries) {
    const auto value = value_at(text, at + name.size());
    if (value < text.size() && text[value] == '{') return object_at(text, value);
    at = at == 0 ? text.npos : text.rfind(name, at - 1);
  }
  return {};
}

bool has_text(std::string_view data) {
  for (const std::string_view name : {"\"content\"", "\"reasoning_content\"", "\"reasoning\"", "\"text\""}) {
    const auto at = data.find(name);
    const auto value = at == data.npos ? data.npos : value_at(data, at + name.size());
    if (value < data.size() && data.substr(value, 1) == "\"" && data.substr(value, 2) != "\"\"") return true;
  }
  return false;
}

std::uint64_t count(json::View object, std::string_view name, std::string_view other) {
  const auto value = object.find(name).found() ? object.find(name) : object.find(other);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value.as_integer(), 0));
}

bool read_usage(std::string_view text, AnswerUsage::Tokens& into) {
  const std::string object(object_named(text, kUsage));
  const auto peek = json::Peek::open(object);
  if (!peek || !peek->root().is_object()) return false;
  const auto usage = peek->root();
  into.input = count(usage, "prompt_tokens", "input_tokens");
  into.output = count(usage, "completion_tokens", "output_tokens");
  const auto details = usage.find("prompt_tokens_details");
  into.cached = count(details.is_object() ? details : usage.find("input_tokens_details"), "cached_tokens", "");
  return true;
}

bool read_timings(std::string_view text, AnswerUsage::Tokens& into) {
  const std::string object(object_named(text, kTimings));
  const auto peek = json::Peek::open(object);
  if (!peek || !peek->root().is_object()) return false;
  const auto timings = peek->root();
  into.cached = count(timings, "cache_n", "");
  into.input = count(timings, "prompt_n", "") + into.cached;
  into.output = count(timings, "predicted_n", "");
  into.per_second = std::max(timings.find("predicted_per_second").as_number(), 0.0);
  return true;
}

// "usage" has the better numbers of tokens.
bool read_told(std::string_view text, AnswerUsage::Tokens& into) {
  const bool timed = read_timings(text, into);
  return read_usage(text, into) || timed;
}

}  // namespace

AnswerUsage::AnswerUsage(bool events)
    : events_(events), parser_([this](std::string_view, std::string_view data) { event(data); }) {}

void AnswerUsage::feed(std::string_view bytes) {
  if (events_) return parser_.feed(bytes);
  if (head_.size() < kHead) head_.append(bytes.substr(0, kHead - head_.size()));
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTail)));
  if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail);
}

void AnswerUsage::event(std::string_view data) {
  texts_ += has_text(data);
  if (data.size() > kTail || (!data.contains(kUsage) && !data.contains(kTimings))) return;
  Tokens told;
  if (read_told(data, told)) told_ = data;
}

AnswerUsage::Tokens AnswerUsage::tokens() const {
  Tokens tokens;
  if (events_) {
    if (!read_told(told_, tokens)) tokens.output = texts_;
  } else if (!read_told(tail_, tokens)) {
    read_told(head_, tokens);
  }
  return tokens;
}

}  // namespace corral::backends
