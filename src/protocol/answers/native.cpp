#include "protocol/answers/native.h"

#include <algorithm>

#include "json/peek.h"
#include "json/writer.h"
#include "protocol/answers/answer_parts.h"

namespace corral::protocol {
namespace {

std::uint32_t prompt_tokens(const Timings& timings) { return timings.cache_n + timings.prompt_n; }

// The member at "a/b/c"; nothing if a step is missing.
json::View member_at(json::View object, std::string_view path) {
  while (true) {
    const auto end = std::min(path.find('/'), path.size());
    object = object.find(path.substr(0, end));
    if (!object.found() || end == path.size()) return object;
    path.remove_prefix(end + 1);
  }
}

}  // namespace

std::string native_answer(const NativeAnswer& answer) {
  std::string text;
  text.reserve(answer.content.size() + answer.prompt.size() + answer.settings.size() + 1024);
  json::Writer out(text);
  out.begin_object().field("index", answer.index).field("content", answer.content);
  out.key("tokens").raw(tokens_answer(answer.tokens));
  out.field("stop", true).field("model", answer.model);
  out.field("tokens_predicted", answer.usage.completion_tokens);
  out.field("tokens_evaluated", answer.usage.prompt_tokens);
  out.key("generation_settings").raw(answer.settings).field("prompt", answer.prompt);
  out.field("has_new_line", answer.has_new_line).field("truncated", answer.truncated);
  out.field("stop_type", answer.stop_type).field("stopping_word", answer.stopping_word);
  out.field("tokens_cached", answer.usage.cached_tokens).key("timings");
  write_timings(out, answer.timings);
  if (answer.has_logprobs) {
    out.key("completion_probabilities");
    write_probabilities(out, answer.logprobs, answer.logprob_shape);
  }
  out.end_object();
  return text;
}

std::string native_answers(std::span<const std::string> answers) {
  if (answers.size() == 1) return answers.front();
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const auto& answer : answers) out.raw(answer);
  out.end_array();
  return text;
}

std::string select_fields(const std::string& object, std::span<const std::string> paths) {
  const auto peek = json::Peek::open(object);
  std::string text;
  json::Writer out(text);
  out.begin_object();
  for (auto path = paths.begin(); peek && path != paths.end(); ++path) {
    if (std::find(paths.begin(), path, *path) != path) continue;  // already written
    if (const auto member = member_at(peek->root(), *path); member.found()) out.any_key(*path).raw(member.text());
  }
  out.end_object();
  return text;
}

NativeWriter::NativeWriter(std::uint32_t index, LogprobShape logprobs, bool with_timings)
    : logprob_shape_(logprobs),
      with_timings_(with_timings),
      begin_(R"(data: {"index":)" + std::to_string(index) + R"(,"content":)") {}

void NativeWriter::text(std::string& out, std::string_view text, std::span<const std::int32_t> tokens,
                        const Timings& timings, std::span<const TokenLogprob> logprobs) const {
  out.append(begin_);
  json::append_quoted(out, text);
  out.append(R"(,"tokens":)").append(tokens_answer(tokens));
  out.append(R"(,"stop":false,"tokens_predicted":)").append(std::to_string(timings.predicted_n));
  out.append(R"(,"tokens_evaluated":)").append(std::to_string(prompt_tokens(timings)));
  if (with_timings_) {
    out.append(R"(,"timings":)");
    json::Writer writer(out);
    write_timings(writer, timings);
  }
  if (!logprobs.empty()) {
    out.append(R"(,"completion_probabilities":)");
    json::Writer writer(out);
    write_probabilities(writer, logprobs, logprob_shape_);
  }
  out.append("}\n\n");
}

void NativeWriter::progress(std::string& out, const PromptProgress& progress, const Timings& timings) const {
  out.append(begin_).append(R"("","tokens":[],"stop":false,"tokens_predicted":0,"tokens_evaluated":)");
  out.append(std::to_string(progress.total)).append(R"(,"prompt_progress":)");
  json::Writer writer(out);
  write_progress(writer, progress);
  if (with_timings_) {
    writer.key("timings");
    write_timings(writer, timings);
  }
  out.append("}\n\n");
}

void NativeWriter::finish(std::string& out, std::string_view answer) {
  out.append("data: ").append(answer).append("\n\n");
}

}  // namespace corral::protocol
