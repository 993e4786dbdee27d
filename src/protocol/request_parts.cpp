#include "protocol/request_parts.h"

#include <charconv>

#include "protocol/chat_parts.h"

namespace corral::protocol {
namespace {

using json::View;

struct FloatRow {
  std::string_view name;
  std::optional<float> Sampling::* member;
};
constexpr FloatRow kFloats[] = {
    {"temperature", &Sampling::temperature},
    {"top_p", &Sampling::top_p},
    {"min_p", &Sampling::min_p},
    {"typical_p", &Sampling::typical_p},
    {"top_n_sigma", &Sampling::top_n_sigma},
    {"xtc_probability", &Sampling::xtc_probability},
    {"xtc_threshold", &Sampling::xtc_threshold},
    {"dynatemp_range", &Sampling::dynatemp_range},
    {"dynatemp_exponent", &Sampling::dynatemp_exponent},
    {"repeat_penalty", &Sampling::repeat_penalty},
    {"frequency_penalty", &Sampling::frequency_penalty},
    {"presence_penalty", &Sampling::presence_penalty},
    {"dry_multiplier", &Sampling::dry_multiplier},
    {"dry_base", &Sampling::dry_base},
    {"adaptive_target", &Sampling::adaptive_target},
    {"adaptive_decay", &Sampling::adaptive_decay},
    {"mirostat_tau", &Sampling::mirostat_tau},
    {"mirostat_eta", &Sampling::mirostat_eta},
};

struct IntegerRow {
  std::string_view name;
  std::optional<std::int32_t> Sampling::* member;
};
constexpr IntegerRow kIntegers[] = {
    {"top_k", &Sampling::top_k},
    {"repeat_last_n", &Sampling::repeat_last_n},
    {"dry_allowed_length", &Sampling::dry_allowed_length},
    {"dry_penalty_last_n", &Sampling::dry_penalty_last_n},
    {"mirostat", &Sampling::mirostat},
    {"min_keep", &Sampling::min_keep},
};

// Names in an array, or letters in a string; the table has checked that all are known.
std::vector<SamplerKind> sampler_order(View value) {
  std::vector<SamplerKind> order;
  for (const char letter : value.as_string()) {
    if (const auto kind = sampler_lettered(letter)) order.push_back(*kind);
  }
  value.each_element([&](View name) {
    if (const auto kind = sampler_named(name.as_string())) order.push_back(*kind);
  });
  return order;
}

}  // namespace

std::vector<std::string> strings(View value) {
  std::vector<std::string> all;
  if (value.is_string()) all.emplace_back(value.as_string());
  value.each_element([&](View element) { all.emplace_back(element.as_string()); });
  return all;
}

std::uint32_t answers_to_each(View body) {
  std::uint32_t answers = 1;
  for (const auto* name : {"n", "n_cmpl"}) {
    if (const auto n = body.find(name); !n.is_null()) answers = static_cast<std::uint32_t>(n.as_integer());
  }
  return answers;
}

AnswerSchema answer_schema(View body) {
  auto schema = body.find("json_schema");
  AnswerSchema found{.path = "json_schema"};
  const auto format = body.find("response_format");
  const auto type = format.find("type").as_string();
  bool wanted = !schema.is_null();
  if (type == "json_object") {
    wanted = true;
    if (const auto inside = format.find("schema"); !inside.is_null()) {
      schema = inside;
      found.path = "response_format.schema";
    }
  } else if (type == "json_schema") {
    wanted = true;
    schema = format.find("json_schema").find("schema");
    found.path = "response_format.json_schema.schema";
    found.strict = format.find("json_schema").find("strict").as_bool();
  }
  if (!wanted) return {};
  found.text = schema.is_null() || schema.empty() ? R"({"type":"object"})" : schema_without_nulls(schema);
  return found;
}

std::optional<std::int32_t> token_number(std::string_view name) {
  std::int32_t token = 0;
  const auto* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, token);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(token) : std::nullopt;
}

std::optional<std::string_view> function_name(View tool) {
  if (tool.find("type").as_string() != "function") return std::nullopt;
  return tool.find("function").find("name").as_string();
}

ChosenTools chosen_tools(View choice) {
  ChosenTools chosen;
  auto mode = choice.as_string();
  if (choice.is_object()) {
    auto& names = chosen.names.emplace();
    const auto add = [&](View tool) {
      if (const auto name = function_name(tool)) names.push_back(*name);
    };
    add(choice);
    const bool forced = !names.empty();
    const auto allowed = choice.find("allowed_tools");
    if (!forced) allowed.find("tools").each_element(add);
    mode = forced ? "required" : allowed.find("mode").as_string();
  }
  if (mode == "none") chosen.mode = ToolChoice::none;
  if (mode == "required") chosen.mode = ToolChoice::required;
  return chosen;
}

void fill_sampling(Sampling& sampling, View body) {
  body.each_member([&](std::string_view name, View value) {
    if (value.is_null()) return;
    for (const auto& row : kFloats) {
      if (row.name == name) sampling.*row.member = static_cast<float>(value.as_number());
    }
    for (const auto& row : kIntegers) {
      if (row.name == name) sampling.*row.member = static_cast<std::int32_t>(value.as_integer());
    }
    if (name == "samplers") sampling.samplers = sampler_order(value);
    if (name == "dry_sequence_breakers") sampling.dry_sequence_breakers = strings(value);
    if (name == "seed" && value.as_integer() != -1) sampling.seed = static_cast<std::uint32_t>(value.as_integer());
  });
}

}  // namespace corral::protocol
