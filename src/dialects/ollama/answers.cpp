#include "dialects/ollama/answers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dialects/ollama/conversation.h"
#include "json/lone_surrogates.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/http_error.h"

namespace corral::dialects::ollama {
namespace {

using Nanos = std::chrono::nanoseconds;
using protocol::AnswerPiece;
using protocol::ChoicePiece;

Nanos from_ms(double ms) {
  return std::isfinite(ms) ? Nanos(static_cast<std::int64_t>(std::clamp(ms, 0.0, 1e12) * 1e6)) : Nanos(0);
}

// Numbers of a whole answer.
struct Account {
  protocol::Usage usage;
  protocol::Timings timings;
  std::string reason;
  Nanos total{0};

  void add(const AnswerPiece& piece) {
    if (piece.usage) usage = *piece.usage;
    if (piece.timings) timings = *piece.timings;
  }
  void write(json::Writer& out) const {
    const auto prompt = from_ms(timings.prompt_ms), answer = from_ms(timings.predicted_ms);
    // All time before the prompt: mostly the wait for the model.
    const auto load = std::max(total - prompt - answer, Nanos(0));
    out.field("total_duration", total.count()).field("load_duration", load.count());
    out.field("prompt_eval_count", usage.prompt_tokens).field("prompt_eval_duration", prompt.count());
    out.field("eval_count", usage.completion_tokens).field("eval_duration", answer.count());
  }
};

// Ollama has no own name for "tool_calls".
std::string_view done_reason(std::string_view canonical) {
  return canonical.empty() || canonical == "tool_calls" ? std::string_view("stop") : canonical;
}

// Tool calls. Their arguments come in pieces and are sent whole.
class OpenCalls {
 public:
  void add(const protocol::ToolPiece& piece) {
    const auto known = std::ranges::find(calls_, piece.index, &protocol::ToolPiece::index);
    if (known == calls_.end()) {
      calls_.push_back(piece);
      return;
    }
    if (!piece.call.id.empty()) known->call.id = piece.call.id;
    known->call.name += piece.call.name;
    known->call.arguments += piece.call.arguments;
  }
  std::vector<protocol::ToolPiece> take() { return std::exchange(calls_, {}); }

 private:
  std::vector<protocol::ToolPiece> calls_;
};

// "tool_calls" of the open message. A call without an object (cut off) is sent as text, because clients rely on
// objects.
std::string write_calls(json::Writer& out, const std::vector<protocol::ToolPiece>& calls) {
  std::string left;
  bool open = false;
  for (const auto& [index, call] : calls) {
    std::string text = call.arguments.empty() ? "{}" : call.arguments;
    json::replace_lone_surrogates(text);
    const auto arguments = json::Peek::open(text);
    if (!arguments || !arguments->root().is_object()) {
      left.append(call.name).append(call.arguments);
      continue;
    }
    if (!std::exchange(open, true)) out.key("tool_calls").begin_array();
    out.begin_object();
    if (!call.id.empty()) out.field("id", call.id);
    out.key("function").begin_object().field("index", index).field("name", call.name);
    out.key("arguments").raw(arguments->root().text()).end_object().end_object();
  }
  if (open) out.end_array();
  return left;
}

// Shared code of chats and prompts; they differ in the place of the text.
class Translator : public ResponseTranslator {
 public:
  explicit Translator(const Canonical& request) {
    json::Writer out(begin_);
    out.begin_object().field("model", request.about.model).field("created_at", time_text(request.received));
    begin_.push_back(',');
  }

  std::string_view stream_type() const override { return "application/x-ndjson"; }
  // Lines without text keep the connection open, and every client can read them.
  void ping(std::string& out) override { line(out, {}); }
  void piece(std::string& out, const AnswerPiece& piece) override {
    account_.add(piece);
    for (const auto& choice : piece.choices) {
      if (choice.index != 0) continue;
      if (!choice.finish_reason.empty()) account_.reason = choice.finish_reason;
      for (const auto& tool : choice.tools) calls_.add(tool);
      add_logprobs(choice.logprobs);
      if (!choice.content.empty() || !choice.reasoning.empty()) line(out, choice);
    }
  }
  void failure(std::string& out, const Error& error) override {
    out.append(protocol::error_body(error, protocol::Style::ollama)).push_back('\n');
  }
  void end(std::string& out) override {
    if (auto calls = calls_.take(); !calls.empty()) line(out, {.tools = std::move(calls)});
    last(out, {});
    out.push_back('\n');
  }
  void took(Nanos total) override { account_.total = total; }
  std::string whole(const AnswerPiece& answer) override {
    account_.add(answer);
    ChoicePiece choice;
    if (!answer.choices.empty()) choice = answer.choices.front();
    add_logprobs(choice.logprobs);
    account_.reason = choice.finish_reason;
    std::string out;
    out.reserve(choice.content.size() + choice.reasoning.size() + 512);
    last(out, choice);
    return out;
  }

 protected:
  // Writes the members with the text, after `begin_`.
  virtual void write_choice(std::string& out, const ChoicePiece& choice) = 0;
  // Appends members of the last line, each with a comma before it.
  virtual void add_to_last(std::string&) {}

 private:
  // Probabilities of tokens whose text is held back wait for the line with that text.
  void add_logprobs(std::string_view array) {
    if (array.size() <= 2) return;
    logprobs_.append(logprobs_.empty() ? "" : ",").append(array.substr(1, array.size() - 2));
  }
  void write_logprobs(std::string& out) {
    if (logprobs_.empty()) return;
    out.append(R"(,"logprobs":[)").append(logprobs_).push_back(']');
    logprobs_.clear();
  }
  void line(std::string& out, const ChoicePiece& choice) {
    out.append(begin_);
    write_choice(out, choice);
    write_logprobs(out);
    out.append(",\"done\":false}\n");
  }
  void last(std::string& out, const ChoicePiece& choice) {
    out.append(begin_);
    write_choice(out, choice);
    write_logprobs(out);
    out.append(R"(,"done":true,"done_reason":)");
    json::append_quoted(out, done_reason(account_.reason));
    add_to_last(out);
    out.push_back(',');
    json::Writer writer(out);
    account_.write(writer);
    out.push_back('}');
  }

  std::string begin_;  // up to and including the comma before the text
  Account account_;
  OpenCalls calls_;
  std::string logprobs_;  // elements of an array that haven't been sent
};

class ChatTranslator final : public Translator {
 public:
  using Translator::Translator;

 private:
  void write_choice(std::string& out, const ChoicePiece& choice) override {
    out.append(R"("message":{"role":"assistant","content":)");
    if (choice.tools.empty()) {
      json::append_quoted(out, choice.content);
    } else {
      std::string calls;
      json::Writer writer(calls);
      const auto left = write_calls(writer, choice.tools);
      json::append_quoted(out, choice.content + left);
      if (!calls.empty()) out.append(",").append(calls);
    }
    if (!choice.reasoning.empty()) {
      out.append(R"(,"thinking":)");
      json::append_quoted(out, choice.reasoning);
    }
    out.push_back('}');
  }
};

// See requests.h.
std::string conversation_before(const Canonical& request) {
  const auto* earlier = static_cast<const std::string*>(request.facts.get());
  return earlier != nullptr ? *earlier : std::string();
}

class GenerateTranslator final : public Translator {
 public:
  explicit GenerateTranslator(const Canonical& request) : Translator(request), before_(conversation_before(request)) {}

 private:
  void write_choice(std::string& out, const ChoicePiece& choice) override {
    if (!before_.empty()) content_.append(choice.content);
    out.append(R"("response":)");
    json::append_quoted(out, choice.content);
    if (choice.reasoning.empty()) return;
    out.append(R"(,"thinking":)");
    json::append_quoted(out, choice.reasoning);
  }
  void add_to_last(std::string& out) override {
    if (before_.empty()) return;
    const auto conversation = before_ + ',' + message("assistant", content_);
    if (conversation.size() > kMaxConversation) return;
    out.append(R"(,"context":)");
    json::Writer writer(out);
    write_context(writer, conversation);
  }

  const std::string before_;  // the conversation up to the prompt; empty: no context in the answer
  std::string content_;
};

// Answers that never stream.
class WholeTranslator : public ResponseTranslator {
 public:
  explicit WholeTranslator(const Canonical& request) : model_(request.about.model) {}
  void ping(std::string&) override {}
  void piece(std::string&, const AnswerPiece&) override {}
  void failure(std::string& out, const Error& error) override {
    out.append(protocol::error_body(error, protocol::Style::ollama));
  }
  void end(std::string&) override {}
  void took(Nanos total) override { total_ = total; }

 protected:
  const std::string model_;
  Nanos total_{0};
};

class EmbedTranslator final : public WholeTranslator {
 public:
  using WholeTranslator::WholeTranslator;
  std::string whole(const AnswerPiece& answer) override {
    std::string text;
    std::size_t expected = 256;
    for (const auto& vector : answer.embeddings) expected += vector.size() + 1;
    text.reserve(expected);
    json::Writer out(text);
    out.begin_object().field("model", model_).key("embeddings").begin_array();
    for (const auto& vector : answer.embeddings) out.raw(vector);
    out.end_array().field("total_duration", total_.count()).field("load_duration", 0);
    out.field("prompt_eval_count", answer.usage ? answer.usage->prompt_tokens : 0u).end_object();
    return text;
  }
};

class OldEmbeddingTranslator final : public WholeTranslator {
 public:
  using WholeTranslator::WholeTranslator;
  std::string whole(const AnswerPiece& answer) override {
    std::string text = R"({"embedding":)";
    text.append(answer.embeddings.empty() ? std::string_view("[]") : std::string_view(answer.embeddings.front()));
    text.push_back('}');
    return text;
  }
};

template <typename T>
std::unique_ptr<ResponseTranslator> make(const Canonical& request) {
  return std::make_unique<T>(request);
}

}  // namespace

std::string time_text(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  const auto ms = std::chrono::duration_cast<Millis>(time - seconds).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), ms);
}

std::unique_ptr<ResponseTranslator> make_chat_translator(const Canonical& request) {
  return make<ChatTranslator>(request);
}
std::unique_ptr<ResponseTranslator> make_generate_translator(const Canonical& request) {
  return make<GenerateTranslator>(request);
}
std::unique_ptr<ResponseTranslator> make_embed_translator(const Canonical& request) {
  return make<EmbedTranslator>(request);
}
std::unique_ptr<ResponseTranslator> make_old_embedding_translator(const Canonical& request) {
  return make<OldEmbeddingTranslator>(request);
}

}  // namespace corral::dialects::ollama
