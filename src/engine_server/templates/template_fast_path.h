// Fast path for the prompts of ordinary chats. Internal to engine_server/; includes llama-common.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <chat-auto-parser.h>
#include <chat.h>

struct llama_model;

namespace corral::engine_server {

// The library analyses a template again for every request, which takes longer than the first token of a small model.
// For ordinary requests this class keeps the analysis and renders with it: the same steps in the same order, so the
// same prompt (a test compares both). Immutable.
class TemplateFastPath {
 public:
  // For the model's template, or for `given`. Null for a template with special treatment in the library. Throws what
  // the library throws.
  static std::unique_ptr<TemplateFastPath> make(const llama_model* model, const std::string& given = {});
  // None for a request that isn't ordinary.
  std::optional<common_chat_params> apply(const common_chat_templates_inputs& inputs) const;

  const std::string& source() const { return template_->source(); }
  bool thinks() const { return analysis_.reasoning.mode != autoparser::reasoning_mode::NONE; }
  bool parallel_calls() const { return template_->caps.supports_parallel_tool_calls; }

 private:
  std::unique_ptr<common_chat_template> template_;
  autoparser::autoparser analysis_;
  bool add_bos_ = false;
  bool add_eos_ = false;
};

}  // namespace corral::engine_server
