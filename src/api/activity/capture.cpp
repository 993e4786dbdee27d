#include "api/activity/capture.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "http/sse.h"
#include "json/lone_surrogates.h"
#include "json/value.h"

namespace corral::api {
namespace {

constexpr std::string_view kStruck = "[struck out]";
// Depth of JSON texts within JSON texts.
constexpr int kDeepest = 4;

// Matched anywhere in a name, and at its end. Lower case, without '-' and '_'.
constexpr std::array<std::string_view, 9> kSecret{"apikey",     "accesskey",     "privatekey", "password",  "passwd",
                                                  "passphrase", "authorization", "secret",     "credential"};
constexpr std::array<std::string_view, 3> kSecretEnd{"token", "cookie", "bearer"};

bool is_secret(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '-' && c != '_') plain.push_back(to_lower(c));
  }
  return std::ranges::any_of(kSecret, [&](auto word) { return plain.contains(word); }) ||
         std::ranges::any_of(kSecretEnd, [&](auto word) { return plain.ends_with(word); });
}

// The probability of a token, whose member `token` is no secret.
bool is_logprob(const json::Object& object) { return object.contains("logprob") || object.contains("prob"); }

// Members that contain JSON as text; streams have pieces of them.
bool holds_arguments(const json::Object& object, std::string_view name) {
  if (name == "arguments" || name == "partial_json") return true;
  const auto* type = object.if_contains("type");
  const auto* text = type != nullptr ? type->if_string() : nullptr;
  return name == "delta" && text != nullptr && std::string_view(text->data(), text->size()).contains("arguments");
}

// Requests and answers may have halves of surrogate pairs.
Result<json::Value> parsed(std::string_view text) {
  std::string copy(text);
  json::replace_lone_surrogates(copy);
  return json::parse(copy);
}

void strike(json::Value& value, int depth);

// True: the text is JSON and was handled.
bool strike_text(json::String& text, int depth) {
  const std::string_view all(text.data(), text.size());
  const auto first = all.find_first_not_of(" \t\r\n");
  if (depth >= kDeepest || first == std::string_view::npos || (all[first] != '{' && all[first] != '[')) return false;
  auto inner = parsed(all);
  if (!inner) return false;
  const auto before = *inner;
  strike(*inner, depth + 1);
  if (*inner != before) text = json::String(std::string_view(json::serialize(*inner)));
  return true;
}

void strike_members(json::Object& object, int depth) {
  const bool logprob = is_logprob(object);
  for (auto& [name, value] : object) {
    const std::string_view word(name.data(), name.size());
    if (!value.is_null() && is_secret(word) && !(logprob && word == "token")) {
      value = json::String(kStruck);
      continue;
    }
    auto* const text = value.if_string();
    if (text != nullptr && !text->empty() && holds_arguments(object, word)) {
      if (!strike_text(*text, depth)) *text = json::String(kStruck);
      continue;
    }
    strike(value, depth);
  }
}

void strike(json::Value& value, int depth) {
  if (auto* object = value.if_object()) strike_members(*object, depth);
  if (auto* array = value.if_array()) {
    for (auto& element : *array) strike(element, depth);
  }
  if (auto* text = value.if_string()) strike_text(*text, depth);
}

json::Value struck(std::string_view text) {
  auto value = parsed(text);
  if (!value) return {};
  strike(*value, 0);
  return std::move(*value);
}

// Server-sent events, or lines.
json::Value struck_events(std::string_view text) {
  json::Array all;
  http::SseParser parser([&](std::string_view, std::string_view data) {
    if (data.starts_with('{')) all.push_back(struck(data));
  });
  parser.feed(text);
  return all;
}
json::Value struck_lines(std::string_view text) {
  json::Array all;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    if (line.starts_with('{')) all.push_back(struck(line));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return all;
}

json::Value struck_answer(std::string_view text, std::string_view type) {
  if (type.starts_with("text/event-stream")) return struck_events(text);
  if (type.starts_with("application/x-ndjson")) return struck_lines(text);
  return struck(text);
}

class CapturedBody final : public http::BodySource {
 public:
  CapturedBody(std::unique_ptr<http::BodySource> body, std::shared_ptr<Capture> into, std::shared_ptr<const void> note)
      : note_(std::move(note)), into_(std::move(into)), body_(std::move(body)) {}
  async::Task<Result<std::string_view>> read() override {
    auto piece = co_await body_->read();
    if (piece) into_->answer.add(*piece);
    co_return piece;
  }
  std::string_view take_ready() override {
    const auto piece = body_->take_ready();
    into_->answer.add(piece);
    return piece;
  }
  void abort() override { body_->abort(); }
  std::optional<std::uint64_t> length() const override { return body_->length(); }

 private:
  const std::shared_ptr<const void> note_;
  const std::shared_ptr<Capture> into_;
  const std::unique_ptr<http::BodySource> body_;
};

}  // namespace

void CapturedText::add(std::string_view piece) {
  const bool fits = whole() && bytes_ + piece.size() <= kLongestCapture;
  bytes_ += piece.size();
  if (fits) {
    text_.append(piece);
  } else {
    text_ = {};
  }
}

std::string Capture::document() const {
  json::Object all;
  all["request"] = request.whole() ? struck(request.text()) : json::Value();
  all["request_bytes"] = request.bytes();
  all["answer"] = answer.whole() ? struck_answer(answer.text(), answer_type) : json::Value();
  all["answer_bytes"] = answer.bytes();
  all["answer_type"] = json::String(std::string_view(answer_type));
  return json::serialize(all);
}

http::Response captured(http::Response answer, std::shared_ptr<Capture> into, std::shared_ptr<const void> note) {
  if (!answer.body.streaming()) {
    into->answer.add(answer.body.text());
    return answer;
  }
  answer.body = http::Body(std::make_unique<CapturedBody>(answer.body.take_source(), std::move(into), std::move(note)));
  return answer;
}

std::string without_secrets(std::string_view text) { return json::serialize(struck(text)); }

}  // namespace corral::api
