#include "dialects/anthropic/count_translator.h"

#include <string>

#include "json/writer.h"

namespace corral::dialects::anthropic {
namespace {

// Counts don't stream.
class CountTranslator final : public ResponseTranslator {
 public:
  void ping(std::string&) override {}
  void piece(std::string&, const protocol::AnswerPiece&) override {}
  void failure(std::string&, const Error&) override {}
  void end(std::string&) override {}
  std::string whole(const protocol::AnswerPiece& answer) override {
    std::string text;
    json::Writer json(text);
    json.begin_object().field("input_tokens", answer.usage.value_or(protocol::Usage()).prompt_tokens).end_object();
    return text;
  }
};

}  // namespace

std::unique_ptr<ResponseTranslator> make_count_translator(const Canonical&) {
  return std::make_unique<CountTranslator>();
}

}  // namespace corral::dialects::anthropic
