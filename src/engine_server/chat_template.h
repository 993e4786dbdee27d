// Chat templates: messages become the prompt a model was trained on, and its answer becomes content, reasoning and tool
// calls again. Everything of llama-common that this folder uses hides behind these three classes.
//
// Prompts equal those of llama-server 0.5.0 with --jinja, byte for byte. Where a template begins with BOS and the
// vocabulary adds it anyway, it is taken off here, so prompts are to be tokenised with add_special and parse_special.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/values/options.h"
#include "engine_server/request_schemas.h"
#include "protocol/answers.h"
#include "protocol/requests.h"

struct llama_model;

namespace corral::engine_server {

// What a grammar of tool calls or a schema starts with; words become tokens or patterns where the vocabulary is known.
struct GrammarTrigger {
  enum class Kind { token, word, pattern, full_pattern } kind = Kind::word;
  std::string text;
  engine::Token token = engine::kNoToken;
};

struct ParserSpec;  // how answers to one request are read

// A chat request ready to be generated.
struct RenderedChat {
  std::string prompt;
  std::string generation_prompt;  // the end of the prompt that already belongs to the answer
  std::string grammar;            // GBNF, or empty
  bool grammar_lazy = false;
  bool grammar_has_prefill = false;  // the grammar covers generation_prompt too
  std::vector<GrammarTrigger> triggers;
  std::vector<std::string> preserved_tokens;  // control tokens the parser wants to see
  std::vector<std::string> stops;             // in addition to the request's
  std::shared_ptr<const ParserSpec> parser;
  Warnings warnings;  // of schemas
};

// One model's template. Immutable; safe on every thread. `model` must outlive it.
class ChatTemplate {
 public:
  // Errors: invalid_template (the model's file has one that can't be read).
  // short_way false: every request goes the library's own, slower way (for comparing the two).
  // `given`: a template instead of the model's own, "chatml", or another name that libllama knows a format by (which
  // takes no tools); empty: the model's.
  static Result<std::unique_ptr<ChatTemplate>> load(const llama_model* model, bool short_way = true,
                                                    const std::string& given = {});
  ~ChatTemplate();

  // Errors: render_failed, with what the template says; bad_value for a schema that can't become a grammar.
  Result<RenderedChat> render(const protocol::ChatRequest& request) const;
  const std::string& source() const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Reads one answer while it comes in. One thread.
class ChatParser {
 public:
  // `stream` decides where the format "deepseek-legacy" puts reasoning.
  ChatParser(std::shared_ptr<const ParserSpec> spec, bool stream);
  ~ChatParser();
  ChatParser(ChatParser&&) noexcept;
  ChatParser& operator=(ChatParser&&) noexcept;

  // Takes more text without looking at it, for answers that are wanted whole.
  void append(std::string_view text);
  // Takes more text; appends what became known to `deltas`. In long answers with tool calls that may be a little later:
  // each 1/128 of what there is.
  void push(std::string_view text, std::vector<protocol::ChatDelta>& deltas);
  // No more text comes; `cut_off`: it ends before the model's own end, so perhaps amid a tool call.
  // Errors: answer_unreadable (it breaks the format the template asks for).
  Result<> finish(std::vector<protocol::ChatDelta>& deltas, bool cut_off = false);

  const protocol::ChatMessage& message() const;
  // What it has read in all, the same text as often as it was read: the work it took.
  std::uint64_t read_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::engine_server
