// Long because it is one table after the other.
// The tables of the inference endpoints. Ranges are those of the OpenAI reference where it has the field, those of
// llama-server 0.5.0 for the fields it adds and for its own endpoint, completion.
#include <algorithm>

#include "protocol/errors.h"
#include "protocol/fields.h"
#include "protocol/requests.h"
#include "protocol/rules.h"

namespace corral::protocol {
namespace {

constexpr double kMaxUint32 = 4294967295.0;
constexpr double kMaxInt32 = 2147483647.0;
// Looked for at every token, all of them.
constexpr std::size_t kMaxStops = 64;
constexpr std::size_t kMaxStopBytes = 256;
// To embed or to rank in one request; also the tokens of a text that is given as such.
constexpr std::size_t kMaxTexts = 1 << 16;

constexpr Field kContext = {.name = "ctx_size",
                            .kinds = kInteger,
                            .min = -1,
                            .max = 1 << 26,
                            .about =
                                "tokens that the model's context must have at least: it is loaded so, or loaded anew "
                                "if it has fewer; 0 or -1: whatever it has"};

// The fields that every generating endpoint takes.
constexpr auto kGeneration = std::to_array<Field>({
    {.name = "model", .kinds = kString, .min_size = 1, .max_bytes = 512, .about = "which model answers; see `models`"},
    kContext,
    {.name = "stream", .kinds = kBoolean, .about = "the answer comes in events"},
    {.name = "stream_options",
     .kinds = kObject,
     .inside = check_stream_options,
     .about = "`include_usage`: the last event counts tokens"},
    {.name = "temperature", .kinds = kNumber, .min = 0, .max = 2, .about = "0: always the likeliest token"},
    {.name = "top_p",
     .kinds = kNumber,
     .min = 0,
     .max = 1,
     .about = "keeps the likeliest tokens that together have this probability; 1: all"},
    {.name = "top_k",
     .kinds = kInteger,
     .min = -1,
     .max = kMaxInt32,
     .about = "keeps so many of the likeliest tokens; 0 or -1: all"},
    {.name = "min_p",
     .kinds = kNumber,
     .min = 0,
     .max = 1,
     .about = "keeps tokens with at least this part of the likeliest one's probability; 0: all"},
    {.name = "typical_p",
     .kinds = kNumber,
     .min = 0,
     .max = 1,
     .about = "keeps tokens about as surprising as expected; 1: all"},
    {.name = "top_n_sigma",
     .kinds = kNumber,
     .min = -1,
     .max = kLarge,
     .about = "keeps logits within so many standard deviations of the largest; 0 or less: all"},
    {.name = "xtc_probability",
     .kinds = kNumber,
     .min = 0,
     .max = 1,
     .about = "how often the likeliest tokens are taken out, all but the last above `xtc_threshold`"},
    {.name = "xtc_threshold",
     .kinds = kNumber,
     .min = 0,
     .max = 1,
     .about = "see `xtc_probability`; above 0.5 it does nothing"},
    {.name = "dynatemp_range",
     .kinds = kNumber,
     .min = 0,
     .max = kLarge,
     .about = "the temperature follows how sure the model is, by so much up and down"},
    {.name = "dynatemp_exponent", .kinds = kNumber, .min = 0, .max = kLarge, .about = "how it follows"},
    {.name = "repeat_last_n",
     .kinds = kInteger,
     .min = -1,
     .max = kMaxInt32,
     .about = "tokens that penalties look back at; -1: the whole context"},
    {.name = "repeat_penalty",
     .kinds = kNumber,
     .min = 0.01,
     .max = 10,
     .about = "tokens that were there get less likely; 1: off"},
    {.name = "frequency_penalty",
     .kinds = kNumber,
     .min = -2,
     .max = 2,
     .about = "the same, by how often they were there"},
    {.name = "presence_penalty", .kinds = kNumber, .min = -2, .max = 2, .about = "the same, whether they were there"},
    {.name = "dry_multiplier",
     .kinds = kNumber,
     .min = 0,
     .max = kLarge,
     .about = "repeated sequences get less likely; 0: off"},
    {.name = "dry_base",
     .kinds = kNumber,
     .min = 0,
     .max = kLarge,
     .about = "how steeply with their length; below 1: off"},
    {.name = "dry_allowed_length", .kinds = kInteger, .min = 0, .max = kMaxInt32, .about = "length that is free"},
    {.name = "dry_penalty_last_n",
     .kinds = kInteger,
     .min = -1,
     .max = kMaxInt32,
     .about = "tokens looked back at; -1: the whole context"},
    {.name = "dry_sequence_breakers",
     .kinds = kArray,
     .max_size = 16,
     .max_bytes = 128,
     .elements = kString,
     .about = "texts that end a sequence"},
    {.name = "samplers",
     .kinds = kString | kArray,
     .max_size = 32,
     .max_bytes = 64,
     .elements = kString,
     .inside = check_samplers,
     .about = "the steps of sampling in their order, as names or one letter each; the default is `edskypmxt` "
              "(penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc, temperature); besides `adaptive_p` (a). "
              "A step that isn't named has no part in it"},
    {.name = "adaptive_target",
     .kinds = kNumber,
     .min = -1,
     .max = 1,
     .about = "for `adaptive_p`: how likely drawn tokens should be on average; negative: any"},
    {.name = "adaptive_decay",
     .kinds = kNumber,
     .min = 0,
     .max = 0.99,
     .about = "for `adaptive_p`: it remembers about 1 / (1 - decay) tokens"},
    {.name = "mirostat",
     .kinds = kInteger,
     .min = 0,
     .max = 2,
     .about = "1 or 2: instead of `samplers`, after the temperature"},
    {.name = "mirostat_tau", .kinds = kNumber, .min = 0, .max = kLarge, .about = "surprise aimed at"},
    {.name = "mirostat_eta", .kinds = kNumber, .min = 0, .max = kLarge, .about = "how fast it learns"},
    {.name = "min_keep",
     .kinds = kInteger,
     .min = 0,
     .max = kMaxInt32,
     .about = "typ_p, top_p, min_p and xtc leave at least so many tokens"},
    {.name = "seed",
     .kinds = kInteger,
     .about = "the same seed gives the same answer; -1 or none: a random one. The low 32 bits count"},
    {.name = "stop",
     .kinds = kString | kArray,
     .max_size = kMaxStops,
     .max_bytes = kMaxStopBytes,
     .elements = kString,
     .about = "the answer ends before the first of these",
     .instead = "they are looked for at every token, so use few and short ones"},
    {.name = "max_tokens",
     .kinds = kInteger,
     .min = -1,
     .max = kMaxUint32,
     .about = "most tokens of an answer; -1: no limit; 0: only the prompt is computed, for requests to come"},
    {.name = "max_completion_tokens",
     .kinds = kInteger,
     .min = -1,
     .max = kMaxUint32,
     .about = "the same; counts before `max_tokens`"},
    {.name = "n_predict", .kinds = kInteger, .min = -1, .max = kMaxUint32, .about = "the same; counts before both"},
    {.name = "n_probs",
     .kinds = kInteger,
     .min = 0,
     .max = 100,
     .about = "log probabilities of the so many likeliest tokens at each place"},
    {.name = "post_sampling_probs",
     .kinds = kBoolean,
     .about =
         "probabilities (`prob`, `top_probs`) as they are after all steps of sampling, instead of logarithms before"},
    {.name = "logit_bias",
     .kinds = kObject | kArray,
     .elements = kArray,
     .inside = check_logit_bias,
     .about = "token (or text) to a number that is added to its logit; `false` forbids it"},
    {.name = "ignore_eos", .kinds = kBoolean, .about = "the model can't end its answer"},
    {.name = "n_cmpl", .kinds = kInteger, .min = 1, .max = kMaxAnswers, .about = "the same as `n`"},
    {.name = "t_max_predict_ms",
     .kinds = kInteger,
     .min = -1,
     .max = kMaxInt32,
     .about = "time from the first token after which the answer ends with its line; 0 or -1: no limit"},
    {.name = "timings_per_token", .kinds = kBoolean, .about = "each event of a stream has `timings`"},
    {.name = "sse_ping_interval",
     .kinds = kInteger,
     .min = -1,
     .max = kMaxInt32,
     .about = "seconds of silence after which a stream gets a comment (`: ping`), also while its model loads; 0 or -1: "
              "never; the default is 1"},
    {.name = "return_progress",
     .kinds = kBoolean,
     .about = "events of a stream say how far the prompt is before the answer begins: `prompt_progress` with `total`, "
              "`cache` (tokens that were there already), `processed` (with these) and `time_ms`"},
    {.name = "preserved_tokens",
     .kinds = kArray,
     .max_size = 1024,
     .max_bytes = 256,
     .elements = kString,
     .about = "control tokens that are shown in the text"},
    {.name = "grammar_lazy",
     .kinds = kBoolean,
     .about = "`grammar` counts only from the first of `grammar_triggers` on"},
    {.name = "grammar_triggers",
     .kinds = kArray,
     .max_size = 256,
     .elements = kObject,
     .inside = check_triggers,
     .about = "objects with `type` (0 token, 1 word, 2 pattern, 3 pattern of the whole text), `value`, and `token` for "
              "type 0"},
    {.name = "lora", .inside = decline_lora, .about = "refused: adapters are chosen when a model is loaded"},
    {.name = "n_indent", .kinds = kInteger, .min = 0, .inside = decline_indent, .about = "refused but for 0"},
    {.name = "grammar",
     .kinds = kString,
     .max_bytes = 256 * 1024,
     .about = "GBNF that the answer follows; its start is `root`"},
    {.name = "json_schema", .kinds = kObject, .inside = check_schema, .about = "the answer is JSON of this schema"},
    {.name = "cache_prompt",
     .kinds = kBoolean,
     .about = "false: nothing computed for others is used, and nothing left to others"},
    {.name = "return_tokens", .kinds = kBoolean, .about = "`tokens`: the numbers of the answer's tokens; not of chats"},
    {.name = "n",
     .kinds = kInteger,
     .min = 1,
     .max = kMaxAnswers,
     .about = "answers to each prompt; a seed counts up from one to the next"},
    {.name = "response_format",
     .kinds = kObject,
     .inside = check_response_format,
     .about = "`text`, `json_object` (with `schema`) or `json_schema`"},
});

// llama-server's own endpoint takes more than OpenAI's reference has.
constexpr auto kNativeGeneration = [] {
  auto fields = kGeneration;
  const auto field = [&](std::string_view name) -> Field& { return *std::ranges::find(fields, name, &Field::name); };
  field("temperature").max = kLarge;
  field("repeat_penalty").max = kLarge;
  for (const auto* name : {"frequency_penalty", "presence_penalty"}) {
    field(name).min = -kLarge;
    field(name).max = kLarge;
  }
  field("logit_bias").inside = check_wide_logit_bias;
  field("stream_options").about = "no effect: the last event counts tokens anyway";
  return fields;
}();

constexpr Field kPrompt = {.name = "prompt",
                           .kinds = kString | kArray,
                           .required = true,
                           .elements = kString | kInteger | kArray,
                           .inside = check_prompt,
                           .about = "a text, tokens, or a list of such: one answer (or `n`) to each"};

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
      kGeneration +
      std::to_array<Field>({
          {.name = "messages",
           .kinds = kArray,
           .required = true,
           .min_size = 1,
           .max_size = kMaxMessages,
           .elements = kObject,
           .inside = check_messages,
           .about = "the conversation; a last message of the assistant is gone on with",
           .instead = "leave old ones out or join them"},
          {.name = "tools",
           .kinds = kArray,
           .max_size = kMaxTools,
           .elements = kObject,
           .inside = check_tools,
           .about = "functions that may be called; other types of tools are left out",
           .instead = "offer those that this conversation needs"},
          {.name = "tool_choice",
           .kinds = kString | kObject,
           .choices = "auto|none|required",
           .inside = check_tool_choice,
           .about = "or an object that names one function, or some (`allowed_tools`)"},
          {.name = "parallel_tool_calls", .kinds = kBoolean, .about = "several calls in one answer"},
          {.name = "logprobs", .kinds = kBoolean, .about = "log probabilities of the answer's tokens"},
          {.name = "top_logprobs",
           .kinds = kInteger,
           .min = 0,
           .max = 20,
           .about = "so many alternatives to each token; needs `logprobs`"},
          {.name = "chat_template_kwargs",
           .kinds = kObject,
           .inside = check_template_kwargs,
           .about = "further variables of the chat template"},
          {.name = "add_generation_prompt", .kinds = kBoolean, .about = "false: the prompt ends with the last message"},
          {.name = "continue_final_message",
           .kinds = kBoolean | kString,
           .choices = "content|reasoning_content",
           .about =
               "a last message of the assistant is gone on with anyway; where it is said, a stream holds only what "
               "is new. `content`, `reasoning_content`: this part of it; true: the part that is there"},
          {.name = "echo",
           .kinds = kBoolean,
           .about = "with `continue_final_message`: a stream begins with what it goes on with"},
          {.name = "reasoning_effort",
           .kinds = kString,
           .max_bytes = 64,
           .about = "for templates that know it; `none` switches thinking off"},
          {.name = "reasoning_format",
           .kinds = kString,
           .choices = "none|auto|deepseek|deepseek-legacy",
           .about = "where thoughts go; `none`: they stay in the text"},
          {.name = "enable_thinking", .kinds = kBoolean, .about = "false: no thoughts, if the template can do without"},
          {.name = "thinking_budget_tokens",
           .kinds = kInteger,
           .inside = decline_budget,
           .about = "refused but for -1"},
          {.name = "reasoning_budget_tokens",
           .kinds = kInteger,
           .inside = decline_budget,
           .about = "refused but for -1"},
          {.name = "modalities",
           .kinds = kArray,
           .elements = kString,
           .inside = check_modalities,
           .about = "anything but `text` is refused"},
          {.name = "functions", .kinds = kArray, .inside = decline_functions, .about = "refused; use `tools`"},
      });
  static const FieldTable table(kFields, check_chat);
  return table;
}

const FieldTable& completion_fields() {
  static constexpr auto kFields =
      kGeneration +
      std::to_array<Field>({
          kPrompt,
          {.name = "logprobs",
           .kinds = kInteger,
           .min = 0,
           .max = 20,
           .about = "log probabilities of the so many likeliest tokens, in the shape of completions"},
          {.name = "echo", .kinds = kBoolean, .about = "the prompt stands before the answer; not with `logprobs`"},
          {.name = "suffix", .kinds = kString, .inside = check_suffix, .about = "refused but for an empty one"},
          {.name = "best_of", .kinds = kInteger, .min = 1, .max = kMaxAnswers, .about = "must be `n`"},
      });
  static const FieldTable table(kFields, check_completion);
  return table;
}

const FieldTable& native_fields() {
  static constexpr auto kFields =
      kNativeGeneration +
      std::to_array<Field>({
          kPrompt,
          {.name = "logprobs", .kinds = kInteger, .min = 0, .max = 100, .about = "the same as `n_probs`"},
          {.name = "response_fields",
           .kinds = kArray,
           .max_size = 256,
           .elements = kString,
           .about = "only these members of the answer; `a/b`: the member `b` of `a`, under that name. What "
                    "there isn't is left out; in a stream they count for the last event"},
      });
  static const FieldTable table(kFields, check_native);
  return table;
}

namespace {

constexpr Field kTextsToEmbed{.name = "input",
                              .kinds = kString | kArray,
                              .min_size = 1,
                              .max_size = kMaxTexts,
                              .elements = kString | kInteger | kArray,
                              .inside = check_texts_to_embed,
                              .about = "a text, tokens, or a list of such",
                              .instead = "send several requests"};
constexpr auto kEmbedding = std::to_array<Field>({
    {.name = "model", .kinds = kString, .min_size = 1, .max_bytes = 512, .about = "which model answers; see `models`"},
    kContext,
    {.name = "encoding_format",
     .kinds = kString,
     .choices = "float|base64",
     .about = "numbers, or 32-bit floats in base64"},
    {.name = "dimensions", .kinds = kInteger, .min = 1, .max = kMaxInt32, .about = "only as many as the model has"},
    {.name = "embd_normalize",
     .kinds = kInteger,
     .min = -1,
     .max = 64,
     .about = "-1: as the model gives them; 0: the largest becomes 32760; 1, 2, …: this norm becomes 1. The default "
              "is 2"},
});

constexpr Field named(Field field, std::string_view name, std::string_view about) {
  field.name = name;
  field.about = about;
  return field;
}

constexpr Field required(Field field) {
  field.required = true;
  return field;
}

Result<> check_native_embedding(json::View body) {
  const bool given = !body.find("input").is_null() || !body.find("content").is_null();
  if (given) return {};
  return fail(errc::missing_field, "'content' is required: a text, tokens, or a list of such", "content");
}

}  // namespace

const FieldTable& embedding_fields() {
  static constexpr auto kFields = kEmbedding + std::to_array<Field>({required(kTextsToEmbed)});
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& native_embedding_fields() {
  static constexpr auto kFields =
      kEmbedding +
      std::to_array<Field>({kTextsToEmbed, named(kTextsToEmbed, "content", "the same as `input`, which counts first")});
  static const FieldTable table(kFields, check_native_embedding);
  return table;
}

const FieldTable& rerank_fields() {
  static constexpr Field kFields[] = {
      {.name = "model",
       .kinds = kString,
       .min_size = 1,
       .max_bytes = 512,
       .about = "which model answers; see `models`"},
      kContext,
      {.name = "query", .kinds = kString, .required = true, .min_size = 1, .about = "what documents are compared with"},
      {.name = "documents",
       .kinds = kArray,
       .min_size = 1,
       .max_size = kMaxTexts,
       .elements = kString | kObject,
       .inside = check_documents,
       .about = "texts, or objects with `text`; required unless there are `texts`",
       .instead = "send several requests"},
      {.name = "texts",
       .kinds = kArray,
       .min_size = 1,
       .max_size = kMaxTexts,
       .elements = kString,
       .about = "instead of `documents`, as for text-embeddings-inference: the answer is a list of objects with "
                "`index` and `score`",
       .instead = "send several requests"},
      {.name = "top_n", .kinds = kInteger, .min = 1, .max = kMaxInt32, .about = "only so many, best first"},
      {.name = "return_documents", .kinds = kBoolean, .about = "the texts come back with their scores"},
      {.name = "return_text", .kinds = kBoolean, .about = "the same"},
      {.name = "raw_scores",
       .kinds = kBoolean,
       .about = "false: scores between 0 and 1 (their logistic function); else as the model gives them"},
      {.name = "truncate", .kinds = kBoolean, .about = "texts are never cut; one that is too long is refused"},
  };
  static const FieldTable table(kFields, check_documents_or_texts);
  return table;
}

const FieldTable& tokenize_fields() {
  static constexpr Field kFields[] = {
      {.name = "model",
       .kinds = kString,
       .min_size = 1,
       .max_bytes = 512,
       .about = "which model answers; see `models`"},
      {.name = "content",
       .kinds = kString,
       .required = true,
       .max_bytes = 2 << 20,
       .about = "the text",
       .instead = "send it in pieces"},
      {.name = "add_special", .kinds = kBoolean, .about = "with BOS and the like, as the model wants them"},
      {.name = "parse_special", .kinds = kBoolean, .about = "false: control tokens in the text are plain text"},
      {.name = "with_pieces", .kinds = kBoolean, .about = "each token with its text"},
  };
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& detokenize_fields() {
  static constexpr Field kFields[] = {
      {.name = "model",
       .kinds = kString,
       .min_size = 1,
       .max_bytes = 512,
       .about = "which model answers; see `models`"},
      {.name = "tokens",
       .kinds = kArray,
       .required = true,
       .max_size = 1 << 20,
       .elements = kInteger,
       .inside = check_inputs,
       .about = "token numbers",
       .instead = "send them in pieces"},
  };
  static const FieldTable table(kFields);
  return table;
}

}  // namespace corral::protocol
