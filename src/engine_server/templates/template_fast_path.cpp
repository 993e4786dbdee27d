#include "engine_server/templates/template_fast_path.h"

#include <array>
#include <ctime>
#include <string_view>

#include <llama.h>

#include "base/text.h"

namespace corral::engine_server {
namespace {

std::string token_text(const llama_vocab* vocab, llama_token token) {
  return token == LLAMA_TOKEN_NULL ? std::string() : common_token_to_piece(vocab, token, true);
}

std::string today(const char* format) {
  const auto now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::unique_ptr<TemplateFastPath> TemplateFastPath::make(const llama_model* model, const std::string& given) {
  const char* text = given.empty() ? llama_model_chat_template(model, nullptr) : given.c_str();
  if (!text || *text == '\0' || std::string_view(text) == "chatml") return nullptr;
  // Texts the library patches, and one whose messages it trims.
  for (const auto* patched :
       {"<|channel|>", "[TOOL_CALLS]", "You have access to the following functions in JSONSchema format"}) {
    if (std::string_view(text).find(patched) != std::string_view::npos) return nullptr;
  }
  const auto* vocab = llama_model_get_vocab(model);
  auto way = std::make_unique<TemplateFastPath>();
  way->template_ = std::make_unique<common_chat_template>(text, token_text(vocab, llama_vocab_bos(vocab)),
                                                          token_text(vocab, llama_vocab_eos(vocab)));
  way->add_bos_ = llama_vocab_get_add_bos(vocab);
  way->add_eos_ = llama_vocab_get_add_eos(vocab);
  autoparser::generation_params question;
  question.messages = common_json::parse(R"([{"role":"user","content":"test"}])");
  question.add_generation_prompt = true;
  if (common_chat_try_specialized_template(*way->template_, way->template_->source(), question)) return nullptr;
  way->analysis_.analyze_template(*way->template_);
  return way;
}

std::optional<common_chat_params> TemplateFastPath::apply(const common_chat_templates_inputs& inputs) const {
  const auto& caps = template_->caps;
  if (!inputs.tools.empty() || !caps.supports_string_content) return std::nullopt;
  if (inputs.continue_final_message != COMMON_CHAT_CONTINUATION_NONE) return std::nullopt;
  autoparser::generation_params params;
  params.messages = common_json::array();
  for (const auto& message : inputs.messages) {
    const bool system = message.role == "system" && caps.supports_system_role;
    if (!system && message.role != "user" && message.role != "assistant") return std::nullopt;
    common_chat_msg plain;
    plain.role = message.role;
    plain.content = message.content;
    if (message.content.empty() || !(message == plain)) return std::nullopt;
    params.messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  params.tool_choice = inputs.tool_choice;
  params.reasoning_format = inputs.reasoning_format;
  params.enable_thinking = inputs.enable_thinking;
  params.grammar = inputs.grammar;
  params.now = inputs.now;
  params.add_generation_prompt = inputs.add_generation_prompt;
  params.add_bos = add_bos_;
  params.add_eos = add_eos_;
  params.parallel_tool_calls = inputs.parallel_tool_calls;
  params.extra_context = {{"datetime", today("%b %d %Y")}, {"date_string", today("%d %b %Y")}};
  for (const auto& [name, value] : inputs.chat_template_kwargs) params.extra_context[name] = common_json::parse(value);
  if (!inputs.json_schema.empty()) params.json_schema = common_json::parse(inputs.json_schema);

  auto made = autoparser::peg_generator::generate_parser(*template_, params, analysis_);
  made.supports_thinking = thinks();
  if (made.supports_thinking) {
    made.thinking_start_tag = std::string(trimmed(analysis_.reasoning.start));
    auto end_tag = std::string(trimmed(analysis_.reasoning.end));
    if (!end_tag.empty()) made.thinking_end_tags = {std::move(end_tag)};
  }
  return made;
}

}  // namespace corral::engine_server
