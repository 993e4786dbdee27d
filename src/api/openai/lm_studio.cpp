#include "api/openai/lm_studio.h"

#include "protocol/answers/piece.h"

namespace corral::api::lm_studio {
namespace {

// Larger answers (many embeddings) aren't parsed on the loop.
constexpr std::size_t kLargest = 64 * 1024;

std::string_view state_word(std::string_view status) {
  if (status == "loaded" || status == "downsized") return "loaded";
  return status == "loading" ? "loading" : "not-loaded";
}

// "org" of "org/repo:QUANT"; a local file has none.
std::string_view publisher_of(std::string_view checkpoint) {
  const auto end = checkpoint.find('/');
  return end == 0 || end == std::string_view::npos ? "local" : checkpoint.substr(0, end);
}

std::string_view stop_word(const protocol::AnswerPiece& answer) {
  const auto& choice = answer.choices.front();
  if (choice.finish_reason == "length") return "maxPredictedTokensReached";
  if (choice.finish_reason == "tool_calls") return "toolCalls";
  return choice.stopping_word.empty() ? "eosFound" : "stopStringFound";
}

void write_stats(json::Writer& out, const protocol::AnswerPiece& answer) {
  out.key("stats").begin_object();
  if (answer.timings) {
    const auto& timings = *answer.timings;
    const double seconds = timings.predicted_ms / 1000;
    // Prefill computes the first token.
    const double steps = timings.predicted_n > 1 ? timings.predicted_n - 1 : 0;
    out.field("tokens_per_second", seconds > 0 ? steps / seconds : 0.0);
    out.field("time_to_first_token", timings.prompt_ms / 1000).field("generation_time", seconds);
  }
  out.field("stop_reason", stop_word(answer)).end_object();
}

}  // namespace

bool is_path(std::string_view path) { return path.starts_with("/api/v0/"); }

bool lists(ModelType type) {
  return type == ModelType::llm || type == ModelType::embedding || type == ModelType::reranking;
}

std::string_view type_word(ModelType type, bool vision) {
  if (type != ModelType::llm) return "embeddings";
  return vision ? "vlm" : "llm";
}

void write_members(json::Writer& out, const Entry& entry) {
  const auto state = state_word(entry.status);
  out.field("publisher", publisher_of(entry.checkpoint)).field("arch", entry.architecture);
  out.field("compatibility_type", "gguf").field("state", state);
  if (state == "loaded") out.field("loaded_context_length", entry.context);
  out.key("capabilities").begin_array();
  if (entry.tools) out.value("tool_use");
  out.end_array();
}

http::Response with_stats(http::Response answer, const models::ModelInfo& model) {
  if (answer.head.status != 200 || answer.body.streaming() || answer.body.text().size() > kLargest) return answer;
  auto& text = answer.body.text();
  const auto read = protocol::read_answer(text);
  if (!read || read->choices.empty()) return answer;
  text.resize(text.rfind('}') + 1);
  std::string more;
  json::Writer out(more);
  out.begin_object();
  write_stats(out, *read);
  out.key("model_info").begin_object().field("arch", model.traits.architecture);
  out.field("quant", model.traits.quantisation).field("format", "gguf");
  out.field("context_length", model.traits.context_length).end_object().end_object();
  text.back() = ',';
  text.append(more, 1);
  return answer;
}

}  // namespace corral::api::lm_studio
