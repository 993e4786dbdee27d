#include "cli/server/bench_wire.h"

#include "cli/errors.h"
#include "cli/server/answer_fields.h"

namespace corral::cli {

std::string tokenize_body(const std::string& model, const std::string& text) {
  return json::serialize(json::Object{{"model", model}, {"content", text}});
}

Result<std::vector<std::int64_t>> parse_tokens(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    std::vector<std::int64_t> tokens;
    each(value, "tokens", [&](const json::Value& token) {
      if (const auto* const number = token.if_int64()) tokens.push_back(*number);
    });
    return tokens;
  });
}

std::string bench_body(const std::string& model, std::span<const std::int64_t> prompt, int tokens) {
  return json::serialize(json::Object{{"model", model},
                                      {"prompt", json::Array(prompt.begin(), prompt.end())},
                                      {"max_tokens", tokens},
                                      {"ignore_eos", true},
                                      {"cache_prompt", false}});
}

Result<BenchTimings> parse_timings(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  const auto* const timings = json::find(*value, "timings");
  if (timings == nullptr) return fail(errc::bad_answer, "the answer has no timings");
  return BenchTimings{.prompt_tokens = number_of(*timings, "prompt_n").value_or(0),
                      .prompt_per_second = number_of(*timings, "prompt_per_second").value_or(0),
                      .tokens = number_of(*timings, "predicted_n").value_or(0),
                      .tokens_per_second = number_of(*timings, "predicted_per_second").value_or(0)};
}

}  // namespace corral::cli
