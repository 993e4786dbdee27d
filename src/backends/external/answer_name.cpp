#include "backends/external/answer_name.h"

#include <utility>

#include "json/writer.h"

namespace corral::backends {
namespace {

constexpr std::string_view kKey = "model";

std::string json_string(std::string_view text) {
  std::string out;
  json::append_quoted(out, text);
  return out;
}

class NamedBody final : public http::BodySource {
 public:
  NamedBody(std::unique_ptr<http::BodySource> answer, NameReplacer replacer)
      : answer_(std::move(answer)), replacer_(std::move(replacer)) {}

  async::Task<Result<std::string_view>> read() override {
    do {
      const auto piece = co_await answer_->read();
      if (!piece || piece->empty()) co_return piece;
      piece_ = replacer_.pass(*piece);
    } while (piece_.empty());  // empty means the end
    co_return std::string_view(piece_);
  }
  std::string_view take_ready() override {
    piece_ = replacer_.pass(answer_->take_ready());
    return piece_;
  }
  void abort() override { answer_->abort(); }

 private:
  const std::unique_ptr<http::BodySource> answer_;
  NameReplacer replacer_;
  std::string piece_;
};

}  // namespace

NameReplacer::NameReplacer(bool events, std::string_view name) : events_(events), name_(json_string(name)) {}

std::string NameReplacer::pass(std::string_view bytes) {
  if (done_) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size() + name_.size());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    next(bytes[at], out);
    if (done_) return out.append(bytes.substr(at + 1));
  }
  return out;
}

void NameReplacer::next(char c, std::string& out) {
  // JSON in an event has no line end inside a text.
  if (events_ && c == '\n') {
    part_ = Part::outside;
    escaped_ = in_object_ = is_key_ = is_model_ = false;
    depth_ = 0;
    return out.push_back(c);
  }
  if (part_ != Part::outside) {
    if (!escaped_ && c == '"') return end_text(out);
    escaped_ = !escaped_ && c == '\\';
    if (part_ == Part::text) out.push_back(c);
    if (part_ == Part::text && is_key_ && key_.size() <= kKey.size()) key_.push_back(c);
    return;
  }
  if (c == '"') return begin_text(out);
  out.push_back(c);
  if (c == '{' || c == '[') {
    if (++depth_ == 1) in_object_ = is_key_ = c == '{';
    is_model_ = false;
  } else if (c == '}' || c == ']') {
    if (depth_ > 0) --depth_;
  } else if (c == ',') {
    is_key_ = in_object_ && depth_ == 1;
    is_model_ = false;
  }
}

void NameReplacer::begin_text(std::string& out) {
  key_.clear();
  if (depth_ != 1 || !in_object_) is_key_ = false;
  const bool replaced = is_model_ && depth_ == 1;
  part_ = replaced ? Part::replaced : Part::text;
  if (!replaced) out.push_back('"');
}

void NameReplacer::end_text(std::string& out) {
  if (part_ == Part::replaced) {
    out.append(name_);
    is_model_ = false;
    done_ = !events_;
  } else {
    out.push_back('"');
    is_model_ = is_key_ && key_ == kKey;
    is_key_ = false;
  }
  part_ = Part::outside;
}

http::Response named_answer(http::Response answer, std::string_view name) {
  const auto type = answer.head.headers.get("Content-Type");
  const bool events = type.starts_with("text/event-stream");
  if (answer.head.status >= 400 || name.empty() || (!events && !type.starts_with("application/json"))) return answer;
  NameReplacer replacer(events, name);
  if (answer.body.streaming()) {
    answer.body = http::Body(std::make_unique<NamedBody>(answer.body.take_source(), std::move(replacer)));
  } else {
    answer.body = http::Body(replacer.pass(answer.body.text()));
  }
  return answer;
}

}  // namespace corral::backends
