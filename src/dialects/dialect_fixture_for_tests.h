// For tests of translators: canonical answers in pieces, and a test dialect of lines.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/loop.h"
#include "dialects/translated.h"
#include "http/body.h"

namespace corral::dialects {

// Returns its pieces, one at a time, and counts the reads.
class Pieces final : public http::BodySource {
 public:
  explicit Pieces(std::vector<std::string> pieces, int* reads = nullptr) : pieces_(std::move(pieces)), reads_(reads) {}
  async::Task<Result<std::string_view>> read() override {
    if (reads_ != nullptr) ++*reads_;
    co_return next_ < pieces_.size() ? pieces_[next_++] : std::string_view();
  }

 private:
  const std::vector<std::string> pieces_;
  std::size_t next_ = 0;
  int* const reads_;
};

// A translated stream of these pieces.
inline http::Response translated_stream(std::vector<std::string> pieces, std::unique_ptr<ResponseTranslator> translator,
                                        AtEnd at_end = {}, int* reads = nullptr) {
  return translated(http::Response::event_stream(std::make_unique<Pieces>(std::move(pieces), reads)),
                    std::move(translator), std::move(at_end));
}
inline std::string translated_text(std::vector<std::string> pieces, std::unique_ptr<ResponseTranslator> translator,
                                   AtEnd at_end = {}) {
  async::Loop loop;
  auto response = translated_stream(std::move(pieces), std::move(translator), std::move(at_end));
  return async::run_blocking(loop, response.body.read_all(64 << 20)).value();
}

class Lines final : public ResponseTranslator {
 public:
  std::string_view stream_type() const override { return "text/x-lines"; }
  void ping(std::string& out) override { out += "~\n"; }
  void piece(std::string& out, const protocol::AnswerPiece& piece) override {
    for (const auto& choice : piece.choices) {
      if (!choice.content.empty()) out += "+" + choice.content + "\n";
      for (const auto& tool : choice.tools) out += "@" + tool.call.name + tool.call.arguments + "\n";
      if (!choice.finish_reason.empty()) reason_ = choice.finish_reason;
    }
    if (piece.usage) out += "#" + std::to_string(piece.usage->completion_tokens) + "\n";
  }
  void failure(std::string& out, const Error& error) override { out += "!" + error.message + "\n"; }
  void end(std::string& out) override { out += "." + reason_ + "\n"; }
  std::string whole(const protocol::AnswerPiece& answer) override { return "=" + answer.choices.at(0).content; }

 private:
  std::string reason_;
};

}  // namespace corral::dialects
