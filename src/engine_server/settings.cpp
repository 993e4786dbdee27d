#include "engine_server/settings.h"

#include <limits>

#include <fmt/format.h>

#include "base/sampler_kind.h"
#include "json/writer.h"

namespace corral::engine_server {
namespace {

using engine::SamplingOptions;

template <typename T>
struct Row {
  const char* name;
  T SamplingOptions::* member;
};
constexpr Row<float> kFloats[] = {
    {"temperature", &SamplingOptions::temperature},
    {"dynatemp_range", &SamplingOptions::dynatemp_range},
    {"dynatemp_exponent", &SamplingOptions::dynatemp_exponent},
    {"top_p", &SamplingOptions::top_p},
    {"min_p", &SamplingOptions::min_p},
    {"top_n_sigma", &SamplingOptions::top_n_sigma},
    {"xtc_probability", &SamplingOptions::xtc_probability},
    {"xtc_threshold", &SamplingOptions::xtc_threshold},
    {"typical_p", &SamplingOptions::typical_p},
    {"repeat_penalty", &SamplingOptions::repeat_penalty},
    {"presence_penalty", &SamplingOptions::presence_penalty},
    {"frequency_penalty", &SamplingOptions::frequency_penalty},
    {"dry_multiplier", &SamplingOptions::dry_multiplier},
    {"dry_base", &SamplingOptions::dry_base},
    {"mirostat_tau", &SamplingOptions::mirostat_tau},
    {"mirostat_eta", &SamplingOptions::mirostat_eta},
    {"adaptive_target", &SamplingOptions::adaptive_target},
    {"adaptive_decay", &SamplingOptions::adaptive_decay},
};
constexpr Row<std::int32_t> kIntegers[] = {
    {"top_k", &SamplingOptions::top_k},
    {"repeat_last_n", &SamplingOptions::penalty_last_n},
    {"dry_allowed_length", &SamplingOptions::dry_allowed_length},
    {"dry_penalty_last_n", &SamplingOptions::dry_penalty_last_n},
    {"mirostat", &SamplingOptions::mirostat},
    {"min_keep", &SamplingOptions::min_keep},
};

// llama-server's words for "a random one" and "no limit".
constexpr std::uint32_t kRandomSeed = 0xFFFFFFFF;
constexpr std::int64_t kNoLimit = -1;

void write_texts(json::Writer& out, const char* name, const std::vector<std::string>& texts) {
  out.key(name).begin_array();
  for (const auto& text : texts) out.value(text);
  out.end_array();
}

}  // namespace

SettingsText::SettingsText(const engine::GenerateOptions& options, const protocol::GenerationRequest& request,
                           std::uint32_t n_ctx, std::span<const engine::Token> end_tokens)
    : before_(fmt::format(R"({{"n_ctx":{},"seed":)", n_ctx)) {
  const auto& sampling = options.sampling;
  json::Writer out(after_);
  out.begin_object();
  for (const auto& row : kFloats) out.field(row.name, sampling.*row.member);
  for (const auto& row : kIntegers) out.field(row.name, sampling.*row.member);
  write_texts(out, "dry_sequence_breakers", sampling.dry_sequence_breakers);
  write_texts(out, "stop", options.stop);
  for (const auto* name : {"max_tokens", "n_predict"})
    out.field(name, request.max_tokens ? std::int64_t{*request.max_tokens} : kNoLimit);
  out.field("ignore_eos", sampling.ignore_eos).field("stream", request.stream).key("logit_bias").begin_array();
  auto biases = sampling.logit_bias;
  for (const auto token : sampling.ignore_eos ? end_tokens : std::span<const engine::Token>())
    biases.push_back({token, -std::numeric_limits<float>::infinity()});
  for (const auto& bias : biases) {
    out.begin_object().field("bias", bias.bias).field("token", bias.token).end_object();
  }
  out.end_array().field("n_probs", options.n_probs);
  out.field("grammar", options.grammar ? options.grammar->gbnf : std::string());
  out.field("grammar_lazy", options.grammar && options.grammar->lazy);
  out.key("preserved_tokens").begin_array();
  for (const auto token : options.preserved_tokens) out.value(token);
  out.end_array().key("samplers").begin_array();
  for (const auto kind : sampling.samplers) out.value(name_of(kind));
  out.end_array().field("timings_per_token", request.timings_per_token);
  out.field("post_sampling_probs", options.post_sampling_probs).key("lora").begin_array();
  for (const auto& adapter : request.adapters.value_or(std::vector<protocol::Adapter>()))
    out.begin_object().field("id", adapter.id).field("scale", adapter.scale).end_object();
  out.end_array().field("n_keep", request.n_keep).field("n_discard", request.n_discard).end_object();
  after_.front() = ',';  // continues the object that `before_` begins
}

std::string SettingsText::with_seed(std::optional<std::uint32_t> seed) const {
  return fmt::format("{}{}{}", before_, seed.value_or(kRandomSeed), after_);
}

}  // namespace corral::engine_server
