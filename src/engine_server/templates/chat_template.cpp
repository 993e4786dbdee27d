#include "engine_server/templates/chat_template.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <llama.h>
#include <log.h>

#include "base/excerpt.h"
#include "engine_server/errors.h"
#include "engine_server/templates/forced_calls.h"
#include "engine_server/templates/nesting.h"
#include "engine_server/templates/parser_spec.h"
#include "engine_server/templates/template_cost.h"
#include "engine_server/templates/template_fast_path.h"
#include "json/value.h"
#include "protocol/errors.h"

namespace corral::engine_server {
namespace {

GrammarTrigger to_trigger(const common_grammar_trigger& trigger) {
  GrammarTrigger ours{.text = trigger.value, .token = trigger.token};
  switch (trigger.type) {
    case COMMON_GRAMMAR_TRIGGER_TYPE_TOKEN:
      ours.kind = GrammarTrigger::Kind::token;
      break;
    case COMMON_GRAMMAR_TRIGGER_TYPE_WORD:
      ours.kind = GrammarTrigger::Kind::word;
      break;
    case COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN:
      ours.kind = GrammarTrigger::Kind::pattern;
      break;
    case COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN_FULL:
      ours.kind = GrammarTrigger::Kind::full_pattern;
      break;
  }
  return ours;
}

common_chat_tool_choice to_choice(protocol::ToolChoice choice) {
  switch (choice) {
    case protocol::ToolChoice::none:
      return COMMON_CHAT_TOOL_CHOICE_NONE;
    case protocol::ToolChoice::required:
      return COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    case protocol::ToolChoice::automatic:
      break;
  }
  return COMMON_CHAT_TOOL_CHOICE_AUTO;
}

// The library has a log of its own: only its errors are shown.
void quieten() {
  static const bool done = [] {
    common_log_set_verbosity_thold(LOG_LEVEL_ERROR);
    return true;
  }();
  (void)done;
}

constexpr double kCallsBudget = 2;  // seconds of a core

std::size_t calls_of(const std::vector<common_chat_msg>& messages) {
  std::size_t calls = 0;
  for (const auto& message : messages) calls += message.tool_calls.size() + (message.role == "tool" ? 1 : 0);
  return calls;
}

// Some templates read contents as JSON, which takes 272 bytes of stack for each bracket in another one.
constexpr std::size_t kRenderingStack = 1024;

std::size_t open_brackets_of(const std::vector<common_chat_msg>& messages) {
  std::size_t max = 0;
  const auto add = [&](const std::string& text) { max = std::max(max, open_brackets(text)); };
  for (const auto& message : messages) {
    add(message.content);
    for (const auto& part : message.content_parts) add(part.text);
  }
  return max;
}

// A conversation with so many calls and results. Some templates require a user message at the end, some forbid it.
common_chat_templates_inputs probe(std::size_t calls, bool user_last) {
  common_chat_templates_inputs inputs;
  common_chat_msg question, call, answer;
  question.role = "user";
  question.content = "x";
  call.role = "assistant";
  answer.role = "tool";
  answer.content = "x";
  inputs.messages.push_back(question);
  for (std::size_t i = 0; i < calls / 2; ++i) {
    const auto id = fmt::format("{:09}", i);
    call.tool_calls = {{.name = "f", .arguments = "{}", .id = id}};
    answer.tool_call_id = id;
    inputs.messages.push_back(call);
    inputs.messages.push_back(answer);
  }
  if (user_last) inputs.messages.push_back(question);
  inputs.tools.push_back({.name = "f", .description = "x", .parameters = R"({"type":"object"})"});
  return inputs;
}

// The formats that libllama makes itself, by their names. chatml is a Jinja template of the library.
bool is_named_format(const std::string& given) {
  if (given.empty() || given == "chatml" || given.contains('{')) return false;
  std::vector<const char*> names(256);
  const auto count = llama_chat_builtin_templates(names.data(), names.size());
  names.resize(static_cast<std::size_t>(std::clamp<std::int32_t>(count, 0, 256)));
  return std::ranges::any_of(names, [&](const char* name) { return given == name; });
}

common_chat_continuation to_continuation(protocol::Continuation continuation) {
  if (continuation == protocol::Continuation::content) return COMMON_CHAT_CONTINUATION_CONTENT;
  if (continuation == protocol::Continuation::reasoning) return COMMON_CHAT_CONTINUATION_REASONING;
  return COMMON_CHAT_CONTINUATION_AUTO;
}

}  // namespace

struct ChatTemplate::Impl {
  const llama_model* model;
  std::string given;  // instead of the model's own
  std::string source;
  bool thinks = false;  // the template supports reasoning
  bool parallel_calls = false;
  bool named = false;  // the format has a name and no template
  std::unique_ptr<TemplateFastPath> fast_path;

  common_chat_templates_inputs inputs_of(const protocol::ChatRequest& request) const;
  common_chat_params apply(const common_chat_templates_inputs& inputs) const;
  // With the grammar of the request's schemas.
  common_chat_params apply(common_chat_templates_inputs inputs, const std::string& schema,
                           RequestSchemas& schemas) const;
  std::optional<common_chat_params> apply_named_tools(const common_chat_templates_inputs& inputs,
                                                      RequestSchemas& schemas) const;
  common_chat_params apply_tools(common_chat_templates_inputs inputs, RequestSchemas& schemas) const;
  // Made when first needed.
  const common_chat_templates* library() const;
  // Most tool calls and results of a conversation; measured when one has many.
  std::size_t max_calls() const;

 private:
  mutable std::once_flag measured_;
  mutable std::size_t max_calls_ = kAnyCalls;
  mutable std::once_flag made_;
  mutable std::atomic<bool> by_parameter_ = false;  // the format of tool calls has no schema for all parameters
  mutable common_chat_templates_ptr templates_;
};

const common_chat_templates* ChatTemplate::Impl::library() const {
  std::call_once(made_, [this] { templates_ = common_chat_templates_init(model, given); });
  return templates_.get();
}

std::size_t ChatTemplate::Impl::max_calls() const {
  std::call_once(measured_, [this] {
    for (const bool user_last : {true, false}) {
      try {
        const auto seconds_for = [&](std::size_t calls) {
          const auto inputs = probe(calls, user_last);
          return seconds_of([&] { apply(inputs); });
        };
        max_calls_ = engine_server::max_calls(seconds_for, kCallsBudget);
        return;
      } catch (const std::exception&) {  // the template rejects such conversations
        max_calls_ = kProbedCalls;
      }
    }
  });
  return max_calls_;
}

common_chat_params ChatTemplate::Impl::apply(const common_chat_templates_inputs& inputs) const {
  if (fast_path) {
    if (auto made = fast_path->apply(inputs)) return std::move(*made);
  }
  return common_chat_templates_apply(library(), inputs);
}

common_chat_params ChatTemplate::Impl::apply(common_chat_templates_inputs inputs, const std::string& schema,
                                             RequestSchemas& schemas) const {
  inputs.json_schema = schemas.answer_placeholder();
  auto made = schemas.has_tools() ? apply_tools(inputs, schemas) : apply(inputs);
  if (!made.grammar.empty()) {
    schemas.fill(made.grammar);
    if (inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED) forbid_text_before_calls(made.grammar);
    schemas.append_rules(made.grammar);
  }
  if (schemas.shown_in(made.prompt)) {
    inputs.json_schema = schema;
    inputs.tool_choice = COMMON_CHAT_TOOL_CHOICE_NONE;
    made.prompt = apply(inputs).prompt;
  }
  return made;
}

std::optional<common_chat_params> ChatTemplate::Impl::apply_named_tools(const common_chat_templates_inputs& inputs,
                                                                        RequestSchemas& schemas) const {
  if (by_parameter_) return std::nullopt;
  try {
    auto made = apply(inputs);
    // A schema of the answer leaves tools out, in some formats.
    if (made.grammar.empty() || schemas.replace_tool_rules(made.grammar) || !inputs.json_schema.empty()) return made;
  } catch (const std::exception&) {  // perhaps a schema that the library doesn't know
  }
  return std::nullopt;
}

common_chat_params ChatTemplate::Impl::apply_tools(common_chat_templates_inputs inputs, RequestSchemas& schemas) const {
  if (auto made = apply_named_tools(inputs, schemas)) return std::move(*made);
  // The prompt has the original tools. That none may be called does not affect the prompt.
  auto shown = inputs;
  shown.tool_choice = COMMON_CHAT_TOOL_CHOICE_NONE;
  auto prompt = apply(shown).prompt;
  common_chat_params made;
  for (const bool whole : {true, false}) {
    if (whole && by_parameter_) continue;
    inputs.tools = common_chat_tools_parse_oaicompat(
        common_json::parse(whole ? schemas.whole_tools() : schemas.tools_by_parameter()));
    made = apply(inputs);
    if (!made.grammar.empty()) schemas.fill(made.grammar);
    if (schemas.found_tools()) break;
    if (whole && !made.grammar.empty()) by_parameter_ = true;
    if (!whole) schemas.warn_of_format();
  }
  made.prompt = std::move(prompt);
  return made;
}

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::load(const llama_model* model, bool fast_path,
                                                         const std::string& given) {
  quieten();
  try {
    auto impl = std::make_unique<Impl>();
    impl->model = model;
    impl->given = given;
    impl->named = is_named_format(given);
    if (fast_path && !impl->named) impl->fast_path = TemplateFastPath::make(model, given);
    if (impl->fast_path) {
      impl->source = impl->fast_path->source();
      impl->thinks = impl->fast_path->thinks();
      impl->parallel_calls = impl->fast_path->parallel_calls();
    } else if (impl->named) {
      impl->source = given;
      (void)impl->library();
    } else {
      const auto* library = impl->library();
      impl->source = common_chat_templates_source(library);
      impl->thinks = common_chat_templates_support_enable_thinking(library);
      const auto caps = common_chat_templates_get_caps(library);
      const auto cap = caps.find("supports_parallel_tool_calls");
      impl->parallel_calls = cap != caps.end() && cap->second;
    }
    return std::unique_ptr<ChatTemplate>(new ChatTemplate(std::move(impl)));
  } catch (const std::exception& thrown) {
    return fail(errc::invalid_template,
                fmt::format("the chat template of the model cannot be used: {}", thrown.what()));
  }
}

const std::string& ChatTemplate::source() const { return impl_->source; }

// The rules here are llama-server's, so that the same request gives the same prompt.
common_chat_templates_inputs ChatTemplate::Impl::inputs_of(const protocol::ChatRequest& request) const {
  common_chat_templates_inputs inputs;
  inputs.use_jinja = !named;
  inputs.messages = common_chat_msgs_parse_oaicompat(common_json::parse(request.messages));
  if (!request.tools.empty()) inputs.tools = common_chat_tools_parse_oaicompat(common_json::parse(request.tools));
  inputs.tool_choice = to_choice(request.tool_choice);
  inputs.grammar = request.grammar;
  inputs.parallel_tool_calls = request.parallel_tool_calls.value_or(parallel_calls);
  inputs.add_generation_prompt = request.add_generation_prompt.value_or(true);
  if (!inputs.messages.empty() && inputs.messages.back().role == "assistant") {  // the answer has begun: continue it
    inputs.continue_final_message = to_continuation(request.continuation);
    inputs.add_generation_prompt = false;
  }
  inputs.reasoning_format = request.reasoning_format.empty()
                                ? COMMON_REASONING_FORMAT_DEEPSEEK
                                : common_reasoning_format_from_name(request.reasoning_format);
  inputs.enable_thinking = request.enable_thinking.value_or(thinks);
  for (const auto& [name, value] : request.template_kwargs) {
    inputs.chat_template_kwargs[name] = value;
    if (name == "enable_thinking") inputs.enable_thinking = value == "true";
  }
  if (request.reasoning_effort == "none") {
    inputs.enable_thinking = false;
    inputs.chat_template_kwargs.erase("reasoning_effort");
  } else if (!request.reasoning_effort.empty()) {
    inputs.chat_template_kwargs["reasoning_effort"] = common_json(request.reasoning_effort).dump();
  }
  return inputs;
}

Result<RenderedChat> ChatTemplate::render(const protocol::ChatRequest& request) const {
  try {
    const auto inputs = impl_->inputs_of(request);
    if (const auto calls = calls_of(inputs.messages); calls > kProbedCalls && calls > impl_->max_calls()) {
      return fail(errc::render_failed,
                  fmt::format("'messages' have {} tool calls and results, but at most {} are allowed for this model: "
                              "its chat template takes too long for more, so omit old ones",
                              calls, impl_->max_calls()),
                  "messages");
    }
    if (impl_->named && !inputs.tools.empty()) {
      return fail(errc::render_failed,
                  fmt::format("'tools' need a Jinja template, but chats use the format '{}', which does not support "
                              "tools: omit them, or start the server with a template",
                              impl_->source),
                  "tools");
    }
    auto schemas = RequestSchemas::read(request);
    if (!schemas) return std::unexpected(std::move(schemas.error()));
    common_chat_params made;
    with_stack_for(open_brackets_of(inputs.messages), kRenderingStack,
                   [&] { made = impl_->apply(inputs, request.json_schema.text, *schemas); });
    if (request.parallel_tool_calls == false) allow_one_call(made.grammar);

    RenderedChat chat;
    chat.warnings = schemas->take_warnings();
    chat.prompt = made.prompt;
    chat.generation_prompt = made.generation_prompt;
    chat.grammar = made.grammar.empty() ? request.grammar : made.grammar;
    chat.grammar_lazy = made.grammar_lazy;
    chat.grammar_has_prefill = !made.grammar.empty() && request.grammar.empty();
    for (const auto& trigger : made.grammar_triggers) chat.triggers.push_back(to_trigger(trigger));
    chat.preserved_tokens = made.preserved_tokens;
    chat.stops = made.additional_stops;

    auto spec = std::make_shared<ParserSpec>();
    spec->params = common_chat_parser_params(made);
    spec->params.reasoning_format = inputs.reasoning_format;
    if (!made.parser.empty()) spec->params.parser.load(made.parser);
    spec->has_tools = !inputs.tools.empty() && inputs.tool_choice != COMMON_CHAT_TOOL_CHOICE_NONE;
    spec->params.parse_tool_calls = spec->has_tools;
    spec->params.is_continuation = request.continuation != protocol::Continuation::unsaid;
    spec->params.echo = request.echo;
    spec->legacy_reasoning = inputs.reasoning_format == COMMON_REASONING_FORMAT_DEEPSEEK_LEGACY;
    chat.parser = std::move(spec);
    return chat;
  } catch (const std::exception& thrown) {
    return fail(errc::render_failed,
                fmt::format("'messages' do not fit the chat template of this model: {}", excerpt(thrown.what())),
                "messages");
  }
}

}  // namespace corral::engine_server
