#include "dialects/responses/compaction.h"

#include "dialects/answer_id.h"
#include "dialects/responses/output.h"
#include "json/writer.h"
#include "protocol/responses/responses_fields.h"

namespace corral::dialects::responses {
namespace {

// Compactions don't stream.
class CompactionTranslator final : public ResponseTranslator {
 public:
  explicit CompactionTranslator(const Canonical& request)
      : facts_(std::static_pointer_cast<const CompactionFacts>(request.facts)),
        id_(request.id),
        created_(epoch_millis(request.received) / 1000) {}

  void ping(std::string&) override {}
  void piece(std::string&, const protocol::AnswerPiece&) override {}
  void failure(std::string&, const Error&) override {}
  void end(std::string&) override {}
  std::string whole(const protocol::AnswerPiece& answer) override {
    static const protocol::ChoicePiece kNone;
    const auto& choice = answer.choices.empty() ? kNone : answer.choices.front();
    std::string text;
    json::Writer json(text);
    json.begin_object().field("id", answer_id("resp", id_)).field("object", "response.compaction");
    json.field("created_at", created_).key("output").begin_array();
    if (!facts_->messages.empty()) json.raw(facts_->messages);
    json.begin_object().field("id", answer_id("cmp", id_).append("_0")).field("type", "compaction");
    json.field("encrypted_content", protocol::compacted(choice.content)).end_object().end_array().key("usage");
    write_usage(json, answer.usage.value_or(protocol::Usage()));
    json.end_object();
    return text;
  }

 private:
  const std::shared_ptr<const CompactionFacts> facts_;
  const std::string id_;
  const std::int64_t created_;
};

}  // namespace

std::string lasting_messages(const Earlier& earlier, const std::string& input) {
  std::string messages;
  const auto add = [&](json::View item) {
    if (protocol::item_of(item) != protocol::Item::message) return;
    if (item.find("role").as_string() == "assistant") return;
    if (!messages.empty()) messages.push_back(',');
    messages.append(item.text());
  };
  for (const auto& text : earlier.texts) items_of(text).each_element(add);
  if (const auto peek = json::Peek::open(input)) peek->root().each_element(add);
  return messages;
}

std::unique_ptr<ResponseTranslator> make_compaction_translator(const Canonical& request) {
  return std::make_unique<CompactionTranslator>(request);
}

}  // namespace corral::dialects::responses
