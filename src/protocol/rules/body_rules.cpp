// Rules between the fields of a generating request's body: errors that need only the body are found before its model is
// loaded.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "protocol/errors.h"
#include "protocol/request_parts.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using json::View;

// The depth of parentheses. The grammar parser needs as much stack.
std::size_t nesting(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  for (const char c : text) {
    if (c == '(') deepest = std::max(deepest, ++depth);
    if (c == ')' && depth > 0) --depth;
  }
  return deepest;
}

Result<> check_nesting(std::string_view text, std::string_view name) {
  constexpr std::size_t kMaxNesting = 256;
  const auto depth = nesting(text);
  if (depth <= kMaxNesting) return {};
  return fail(errc::bad_value,
              fmt::format("'{}' nests parentheses {} deep, at most {} are allowed: use rules instead", name, depth,
                          kMaxNesting),
              std::string(name));
}

Result<> check_grammars(View body) {
  const auto grammar = body.find("grammar").as_string();
  const auto schema = answer_schema(body).text;
  if (!grammar.empty() && !schema.empty()) {
    return fail(errc::bad_value, "'grammar' cannot be combined with a JSON schema: omit one of them", "grammar");
  }
  if (!grammar.empty() && body.find("grammar_lazy").as_bool() && body.find("grammar_triggers").empty()) {
    return fail(errc::bad_value,
                "'grammar_lazy' needs 'grammar_triggers': without one the grammar would never apply, so add one",
                "grammar_triggers");
  }
  if (auto fine = check_nesting(grammar, "grammar"); !fine) return fine;
  return check_nesting(schema, "json_schema");
}

bool has_function(View tools, std::string_view name) {
  bool found = false;
  tools.each_element([&](View tool) { found = found || function_name(tool) == name; });
  return found;
}

Result<> check_chosen_tools(View body) {
  const auto refuse = [](std::string message) { return fail(errc::bad_value, std::move(message), "tool_choice"); };
  const auto chosen = chosen_tools(body.find("tool_choice"));
  const auto tools = body.find("tools");
  bool callable = false;
  if (chosen.names) {
    for (const auto name : *chosen.names) {
      if (has_function(tools, name)) continue;
      return refuse(
          fmt::format("'tool_choice' names the function \"{}\", which is not in 'tools': add it there", excerpt(name)));
    }
    callable = !chosen.names->empty();
  } else {
    tools.each_element([&](View tool) { callable = callable || function_name(tool); });
  }
  if (!callable && chosen.mode == ToolChoice::required) {
    return refuse(chosen.names ? "'tool_choice' requires a call but allows no function: name one in "
                                 "'tool_choice.allowed_tools.tools'"
                               : "'tool_choice' requires a call, but 'tools' has no function to call: add one");
  }
  if (callable && chosen.mode != ToolChoice::none && !body.find("grammar").as_string().empty()) {
    return fail(errc::bad_value,
                "'grammar' cannot be combined with 'tools', which have a grammar of their own: omit one of them",
                "grammar");
  }
  return {};
}

Result<> check_top_logprobs(View body) {
  const auto top = body.find("top_logprobs").as_integer();
  if (top == 0 || body.find("logprobs").as_bool()) return {};
  return fail(
      errc::bad_value,
      fmt::format("'top_logprobs' is {}, which needs 'logprobs' to be true: add it, or omit 'top_logprobs'", top),
      "top_logprobs");
}

// The last messages: a begun answer is continued.
Result<> check_begun_answer(View body) {
  View last, before;
  body.find("messages").each_element([&](View message) { before = std::exchange(last, message); });
  const auto answers = [](View message) { return message.find("role").as_string() == "assistant"; };
  if (answers(last) && answers(before)) {
    return fail(errc::bad_value, "'messages' ends with two assistant messages, at most one can be continued: join them",
                "messages");
  }
  if (answers(last) && (!last.find("tool_calls").empty() || !last.find("function_call").is_null())) {
    return fail(errc::bad_value,
                "'messages' ends with an assistant message with tool calls, which cannot be continued: add the results "
                "of the tools",
                "messages");
  }
  const auto wanted = body.find("continue_final_message");
  if (!wanted.is_string() && !wanted.as_bool()) return {};
  const auto refuse = [&](std::string_view reason) {
    return fail(errc::bad_value, fmt::format("'continue_final_message' cannot be {}: {}", wanted.excerpt(), reason),
                "continue_final_message");
  };
  if (!answers(last)) {
    return refuse("the last of 'messages' is not from the assistant, so it cannot be continued; omit it");
  }
  if (body.find("add_generation_prompt").as_bool()) {
    return refuse("'add_generation_prompt' is true, which starts a new message; omit one of them");
  }
  return {};
}

Result<> check_answers(View body) {
  const std::size_t prompts = input_count(body.find("prompt"));
  const auto n = answers_to_each(body);
  if (prompts * n <= kMaxRequestAnswers) return {};
  return fail(
      errc::bad_value,
      fmt::format(
          "'prompt' has {} prompts with 'n' {} choices each, but one request returns at most {}: send several requests",
          prompts, n, kMaxRequestAnswers),
      "prompt");
}

using Rule = Result<> (*)(View body);
Result<> check_all(View body, std::initializer_list<Rule> rules) {
  for (const auto rule : rules) {
    if (auto fine = rule(body); !fine) return fine;
  }
  return {};
}

}  // namespace

Result<> check_chat(View body) {
  return check_all(body, {check_grammars, check_chosen_tools, check_top_logprobs, check_begun_answer});
}

Result<> check_native(View body) { return check_all(body, {check_grammars, check_answers}); }

Result<> check_completion(View body) {
  if (auto fine = check_native(body); !fine) return fine;
  const auto n = answers_to_each(body);
  if (const auto best = body.find("best_of"); !best.is_null() && best.as_integer() != n) {
    return fail(errc::unsupported_value,
                fmt::format("'best_of' must be 'n' ({}) or omitted, not {}: choices are not ranked, so request several "
                            "with 'n' and select one",
                            n, best.as_integer()),
                "best_of");
  }
  if (const auto prompt = body.find("prompt"); !body.find("suffix").as_string().empty() && !is_one_prompt(prompt)) {
    return fail(
        errc::unsupported_value,
        fmt::format("'suffix' cannot be combined with {} prompts: send one request for each gap", prompt.size()),
        "suffix");
  }
  const bool logprobs = !body.find("logprobs").is_null() || body.find("n_probs").as_integer() > 0;
  if (body.find("echo").as_bool() && logprobs) {
    return fail(errc::unsupported_value, "'echo' must be false together with 'logprobs': prompt tokens have none",
                "echo");
  }
  return {};
}

}  // namespace corral::protocol
