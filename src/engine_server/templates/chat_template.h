// Chat templates: convert messages to the prompt format of a model, and its answers to content, reasoning and tool
// calls. Only these three classes use llama-common.
//
// Prompts equal those of llama-server 0.5.0 with --jinja, byte for byte. If a template begins with BOS and the
// vocabulary adds BOS too, it is removed here. So tokenize prompts with add_special and parse_special.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/values/options.h"
#include "engine_server/templates/request_schemas.h"
#include "protocol/answers/answers.h"
#include "protocol/requests.h"

struct llama_model;

namespace corral::engine_server {

// Trigger of a grammar of tool calls or of a schema; words become tokens or patterns if the vocabulary is known.
struct GrammarTrigger {
  enum class Kind { token, word, pattern, full_pattern } kind = Kind::word;
  std::string text;
  engine::Token token = engine::kNoToken;
};

struct ParserSpec;  // how to parse the answers to one request

// A rendered chat request.
struct RenderedChat {
  std::string prompt;
  std::string generation_prompt;  // end of the prompt that is already part of the answer
  std::string grammar;            // GBNF, or empty
  bool grammar_lazy = false;
  bool grammar_has_prefill = false;  // the grammar covers generation_prompt too
  std::vector<GrammarTrigger> triggers;
  std::vector<std::string> preserved_tokens;  // control tokens that the parser needs
  std::vector<std::string> stops;             // in addition to the request's
  std::shared_ptr<const ParserSpec> parser;
  Warnings warnings;  // of schemas
};

// One model's template. Immutable; safe on every thread. `model` must outlive it.
class ChatTemplate {
 public:
  // Errors: invalid_template (the model's template can't be parsed). `fast_path` false: every request uses the
  // library's slower path (for comparisons). `given`: a template instead of the model's, "chatml", or another name of a
  // format in libllama (which supports no tools); empty: the model's.
  static Result<std::unique_ptr<ChatTemplate>> load(const llama_model* model, bool fast_path = true,
                                                    const std::string& given = {});
  ~ChatTemplate();

  // Errors: render_failed, with the template's message; bad_value for a schema that can't become a grammar.
  Result<RenderedChat> render(const protocol::ChatRequest& request) const;
  const std::string& source() const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Parses one answer incrementally. One thread.
class ChatParser {
 public:
  // `stream` determines where the format "deepseek-legacy" puts reasoning.
  ChatParser(std::shared_ptr<const ParserSpec> spec, bool stream);
  ~ChatParser();
  ChatParser(ChatParser&&) noexcept;
  ChatParser& operator=(ChatParser&&) noexcept;

  // Appends text without parsing, for answers that are not streamed.
  void append(std::string_view text);
  // Appends text, and adds new deltas to `deltas`. Long answers with tool calls are parsed less often: after each 1/128
  // of their length.
  void push(std::string_view text, std::vector<protocol::ChatDelta>& deltas);
  // End of the text; `cut_off`: before the model's own end, perhaps inside a tool call. Errors: answer_unreadable (the
  // answer violates the template's format).
  Result<> finish(std::vector<protocol::ChatDelta>& deltas, bool cut_off = false);

  const protocol::ChatMessage& message() const;
  // Total bytes that were parsed, repeated ones included: a measure of the work.
  std::uint64_t read_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::engine_server
