// The tables of the inference endpoints. Ranges are those of the OpenAI reference where it has the field, those of
// llama-server 0.5.0 for the fields it adds.
#include <algorithm>

#include "protocol/fields.h"
#include "protocol/requests.h"
#include "protocol/rules.h"

namespace corral::protocol {
namespace {

constexpr double kMaxUint32 = 4294967295.0;
constexpr double kMaxInt32 = 2147483647.0;
constexpr double kLarge = 1e6;  // for numbers without a meaningful limit: fits every float

// The fields that every generating endpoint takes.
constexpr auto kGeneration = std::to_array<Field>({
    {.name = "model", .kinds = kString, .min_size = 1, .max_size = 512},
    {.name = "stream", .kinds = kBoolean},
    {.name = "stream_options", .kinds = kObject, .inside = check_stream_options},
    {.name = "temperature", .kinds = kNumber, .min = 0, .max = 2},
    {.name = "top_p", .kinds = kNumber, .min = 0, .max = 1},
    {.name = "top_k", .kinds = kInteger, .min = -1, .max = kMaxInt32},
    {.name = "min_p", .kinds = kNumber, .min = 0, .max = 1},
    {.name = "typical_p", .kinds = kNumber, .min = 0, .max = 1},
    {.name = "top_n_sigma", .kinds = kNumber, .min = -1, .max = kLarge},
    {.name = "xtc_probability", .kinds = kNumber, .min = 0, .max = 1},
    {.name = "xtc_threshold", .kinds = kNumber, .min = 0, .max = 1},
    {.name = "dynatemp_range", .kinds = kNumber, .min = 0, .max = kLarge},
    {.name = "dynatemp_exponent", .kinds = kNumber, .min = 0, .max = kLarge},
    {.name = "repeat_last_n", .kinds = kInteger, .min = -1, .max = kMaxInt32},
    {.name = "repeat_penalty", .kinds = kNumber, .min = 0.01, .max = 10},
    {.name = "frequency_penalty", .kinds = kNumber, .min = -2, .max = 2},
    {.name = "presence_penalty", .kinds = kNumber, .min = -2, .max = 2},
    {.name = "dry_multiplier", .kinds = kNumber, .min = 0, .max = kLarge},
    {.name = "dry_base", .kinds = kNumber, .min = 0, .max = kLarge},
    {.name = "dry_allowed_length", .kinds = kInteger, .min = 0, .max = kMaxInt32},
    {.name = "dry_penalty_last_n", .kinds = kInteger, .min = -1, .max = kMaxInt32},
    {.name = "dry_sequence_breakers", .kinds = kArray, .max_size = 16, .elements = kString},
    {.name = "samplers", .kinds = kString | kArray, .max_size = 64, .elements = kString, .inside = check_samplers},
    {.name = "adaptive_target", .kinds = kNumber, .min = -1, .max = 1},
    {.name = "adaptive_decay", .kinds = kNumber, .min = 0, .max = 0.99},
    {.name = "mirostat", .kinds = kInteger, .min = 0, .max = 2},
    {.name = "mirostat_tau", .kinds = kNumber, .min = 0, .max = kLarge},
    {.name = "mirostat_eta", .kinds = kNumber, .min = 0, .max = kLarge},
    {.name = "min_keep", .kinds = kInteger, .min = 0, .max = kMaxInt32},
    {.name = "seed", .kinds = kInteger},
    {.name = "stop", .kinds = kString | kArray, .max_size = 4096, .elements = kString},
    {.name = "max_tokens", .kinds = kInteger, .min = -1, .max = kMaxUint32},
    {.name = "max_completion_tokens", .kinds = kInteger, .min = -1, .max = kMaxUint32},
    {.name = "n_predict", .kinds = kInteger, .min = -1, .max = kMaxUint32},
    {.name = "n_probs", .kinds = kInteger, .min = 0, .max = 100},
    {.name = "post_sampling_probs", .kinds = kBoolean},
    {.name = "logit_bias", .kinds = kObject | kArray, .elements = kArray, .inside = check_logit_bias},
    {.name = "ignore_eos", .kinds = kBoolean},
    {.name = "grammar", .kinds = kString, .max_size = 256 * 1024},
    {.name = "json_schema", .kinds = kObject},
    {.name = "cache_prompt", .kinds = kBoolean},
    {.name = "return_tokens", .kinds = kBoolean},
    {.name = "n", .kinds = kInteger, .min = 1, .max = kMaxAnswers},
    {.name = "response_format", .kinds = kObject, .inside = check_response_format},
});

template <std::size_t N, std::size_t M>
constexpr auto operator+(const std::array<Field, N>& a, const std::array<Field, M>& b) {
  std::array<Field, N + M> all{};
  std::ranges::copy(a, all.begin());
  std::ranges::copy(b, all.begin() + N);
  return all;
}

}  // namespace

const FieldTable& chat_fields() {
  static constexpr auto kFields =
      kGeneration + std::to_array<Field>({
                        {.name = "messages",
                         .kinds = kArray,
                         .required = true,
                         .min_size = 1,
                         .elements = kObject,
                         .inside = check_messages},
                        {.name = "tools", .kinds = kArray, .elements = kObject, .inside = check_tools},
                        {.name = "tool_choice",
                         .kinds = kString | kObject,
                         .choices = "auto|none|required",
                         .inside = check_tool_choice},
                        {.name = "parallel_tool_calls", .kinds = kBoolean},
                        {.name = "logprobs", .kinds = kBoolean},
                        {.name = "top_logprobs", .kinds = kInteger, .min = 0, .max = 20},
                        {.name = "chat_template_kwargs", .kinds = kObject},
                        {.name = "add_generation_prompt", .kinds = kBoolean},
                        {.name = "reasoning_effort", .kinds = kString},
                        {.name = "reasoning_format", .kinds = kString, .choices = "none|auto|deepseek|deepseek-legacy"},
                        {.name = "enable_thinking", .kinds = kBoolean},
                    });
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& completion_fields() {
  static constexpr auto kFields =
      kGeneration + std::to_array<Field>({
                        {.name = "prompt",
                         .kinds = kString | kArray,
                         .required = true,
                         .elements = kString | kInteger | kArray,
                         .inside = check_prompt},
                        {.name = "logprobs", .kinds = kInteger, .min = 0, .max = 20},
                        {.name = "echo", .kinds = kBoolean},
                        {.name = "suffix", .kinds = kString, .inside = check_suffix},
                        {.name = "best_of", .kinds = kInteger, .min = 1, .max = kMaxAnswers},
                    });
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& embedding_fields() {
  static constexpr Field kFields[] = {
      {.name = "model", .kinds = kString, .min_size = 1, .max_size = 512},
      {.name = "input",
       .kinds = kString | kArray,
       .required = true,
       .min_size = 1,
       .elements = kString | kInteger | kArray,
       .inside = check_prompt},
      {.name = "encoding_format", .kinds = kString, .choices = "float|base64"},
      {.name = "dimensions", .kinds = kInteger, .min = 1, .max = kMaxInt32},
  };
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& rerank_fields() {
  static constexpr Field kFields[] = {
      {.name = "model", .kinds = kString, .min_size = 1, .max_size = 512},
      {.name = "query", .kinds = kString, .required = true, .min_size = 1},
      {.name = "documents",
       .kinds = kArray,
       .required = true,
       .min_size = 1,
       .elements = kString | kObject,
       .inside = check_documents},
      {.name = "top_n", .kinds = kInteger, .min = 1, .max = kMaxInt32},
      {.name = "return_documents", .kinds = kBoolean},
  };
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& tokenize_fields() {
  static constexpr Field kFields[] = {
      {.name = "model", .kinds = kString, .min_size = 1, .max_size = 512},
      {.name = "content", .kinds = kString, .required = true},
      {.name = "add_special", .kinds = kBoolean},
      {.name = "parse_special", .kinds = kBoolean},
      {.name = "with_pieces", .kinds = kBoolean},
  };
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& detokenize_fields() {
  static constexpr Field kFields[] = {
      {.name = "model", .kinds = kString, .min_size = 1, .max_size = 512},
      {.name = "tokens", .kinds = kArray, .required = true, .elements = kInteger, .inside = check_prompt},
  };
  static const FieldTable table(kFields);
  return table;
}

}  // namespace corral::protocol
