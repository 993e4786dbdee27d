#include "protocol/answers/chunks.h"

#include "protocol/answers/answer_parts.h"

namespace corral::protocol {
namespace {

void append_quoted_field(std::string& out, std::string_view name, std::string_view text, bool comma) {
  if (comma) out.push_back(',');
  out.append("\"").append(name).append("\":");
  json::append_quoted(out, text);
}

}  // namespace

ChunkWriter::ChunkWriter(Shape shape, const AnswerHead& head, std::uint32_t index, LogprobShape logprobs)
    : shape_(shape), logprob_shape_(logprobs), warnings_(head.warnings), prefix_("data: ") {
  json::Writer out(prefix_);
  out.begin_object();
  write_head(out, head, shape == Shape::chat ? "chat.completion.chunk" : "text_completion");
  out.key("choices");
  begin_ = prefix_ + R"([{"index":)" + std::to_string(index);
}

void ChunkWriter::role(std::string& out, const Usage* prompt) const {
  out.append(begin_).append(R"(,"delta":{"role":"assistant","content":null},"finish_reason":null}])");
  if (prompt) {
    out.append(",\"usage\":");
    json::Writer writer(out);
    write_usage(writer, *prompt);
  }
  out.append("}\n\n");
}

void ChunkWriter::progress(std::string& out, const PromptProgress& progress, const Timings* timings) const {
  out.append(begin_).append(shape_ == Shape::chat ? R"(,"delta":{},)" : R"(,"text":"",)");
  out.append(R"("finish_reason":null}],"prompt_progress":)");
  json::Writer writer(out);
  write_progress(writer, progress);
  if (timings) {
    writer.key("timings");
    write_timings(writer, *timings);
  }
  out.append("}\n\n");
}

void ChunkWriter::delta(std::string& out, const ChatDelta& delta, std::span<const TokenLogprob> logprobs,
                        const Timings* timings) const {
  out.append(begin_).append(R"(,"delta":{)");
  bool comma = false;
  if (!delta.reasoning_content.empty()) {
    append_quoted_field(out, "reasoning_content", delta.reasoning_content, comma);
    comma = true;
  }
  if (!delta.content.empty()) {
    append_quoted_field(out, "content", delta.content, comma);
    comma = true;
  }
  if (delta.tool_index) {
    if (comma) out.push_back(',');
    out.append(R"("tool_calls":[)");
    json::Writer call(out);
    call.begin_object().field("index", *delta.tool_index);
    if (!delta.tool.id.empty()) call.field("id", delta.tool.id).field("type", "function");
    call.key("function").begin_object();
    if (!delta.tool.name.empty()) call.field("name", delta.tool.name);
    call.field("arguments", delta.tool.arguments).end_object().end_object();
    out.push_back(']');
  }
  out.append("},");
  close(out, {}, logprobs, timings);
}

void ChunkWriter::text(std::string& out, std::string_view text, std::span<const TokenLogprob> logprobs,
                       const Timings* timings, std::span<const std::int32_t> tokens) const {
  out.append(begin_).append(R"(,"text":)");
  json::append_quoted(out, text);
  out.push_back(',');
  if (!tokens.empty()) out.append(R"("tokens":)").append(tokens_answer(tokens)).push_back(',');
  close(out, {}, logprobs, timings);
}

void ChunkWriter::finish(std::string& out, std::string_view reason, std::span<const TokenLogprob> logprobs,
                         const Timings* timings, std::string_view stopping_word) const {
  out.append(begin_).append(shape_ == Shape::chat ? R"(,"delta":{},)" : R"(,"text":"",)");
  close(out, reason, logprobs, timings, stopping_word);
}

// The end of a choice and of its event; no reason: the choice continues.
void ChunkWriter::close(std::string& out, std::string_view reason, std::span<const TokenLogprob> logprobs,
                        const Timings* timings, std::string_view stopping_word) const {
  if (!logprobs.empty()) {
    out.append("\"logprobs\":");
    json::Writer writer(out);
    write_logprobs(writer, logprobs, logprob_shape_);
    out.push_back(',');
  }
  out.append(R"("finish_reason":)");
  if (reason.empty()) {
    out.append("null}]");
  } else {
    out.append("\"").append(reason).append("\"");
    if (!stopping_word.empty()) append_quoted_field(out, "stopping_word", stopping_word, true);
    out.append("}]");
  }
  if (timings) {
    out.append(",\"timings\":");
    json::Writer writer(out);
    write_timings(writer, *timings);
  }
  if (!reason.empty() && !warnings_.empty()) {
    out.push_back(',');
    json::Writer writer(out);
    write_warnings(writer, warnings_);
  }
  out.append("}\n\n");
}

void ChunkWriter::usage(std::string& out, const Usage& usage, const Timings* timings) const {
  out.append(prefix_).append("[],\"usage\":");
  json::Writer writer(out);
  write_usage(writer, usage);
  if (timings) {
    writer.key("timings");
    write_timings(writer, *timings);
  }
  out.append("}\n\n");
}

void ChunkWriter::done(std::string& out) { out.append("data: [DONE]\n\n"); }

}  // namespace corral::protocol
