// Parts of requests. Internal to protocol/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/peek.h"
#include "protocol/requests.h"

namespace corral::protocol {

// One string, or those of an array.
std::vector<std::string> strings(json::View value);
// Whether it is one prompt: a text, an array with tokens (and maybe texts between them), or an object with one of
// these.
bool is_one_prompt(json::View value);
// The number of prompts.
std::size_t input_count(json::View prompt);
// One prompt, and all of a field.
Input input(json::View prompt);
std::vector<Input> inputs(json::View value);
std::vector<std::int32_t> integers(json::View array);
// The number of answers to each: "n" or "n_cmpl".
std::uint32_t answers_to_each(json::View body);
// The schema the answer must follow, from json_schema or response_format.
AnswerSchema answer_schema(json::View body);
// The token number in a member's name of logit_bias; nothing: the name is a text, and all its tokens are meant.
std::optional<std::int32_t> token_number(std::string_view name);
// The name of a tool that is a function; nothing for other types.
std::optional<std::string_view> function_name(json::View tool);

// The value of tool_choice. Names are views into the body.
struct ChosenTools {
  ToolChoice mode = ToolChoice::automatic;
  std::optional<std::vector<std::string_view>> names;  // only these functions; nothing: all
};
ChosenTools chosen_tools(json::View choice);

// Fills the sampling options from a checked body.
void fill_sampling(Sampling& sampling, json::View body);

}  // namespace corral::protocol
