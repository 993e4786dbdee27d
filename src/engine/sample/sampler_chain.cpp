#include "engine/sample/sampler_chain.h"

#include <algorithm>
#include <vector>

namespace corral::engine {
namespace {

bool has(const SamplingOptions& o, SamplerKind kind) { return std::ranges::find(o.samplers, kind) != o.samplers.end(); }

bool penalizes(const SamplingOptions& o) {
  return o.penalty_last_n != 0 &&
         (o.repeat_penalty != 1.0f || o.frequency_penalty != 0.0f || o.presence_penalty != 0.0f);
}

bool uses_dry(const SamplingOptions& o) {
  return o.dry_multiplier != 0.0f && o.dry_base >= 1.0f && o.dry_penalty_last_n != 0;
}

// Whether a step has any effect with these options.
bool has_effect(SamplerKind kind, const SamplingOptions& o) {
  switch (kind) {
    case SamplerKind::penalties:
      return penalizes(o);
    case SamplerKind::dry:
      return uses_dry(o);
    case SamplerKind::top_n_sigma:
      return o.top_n_sigma > 0;
    case SamplerKind::top_k:
      return o.top_k > 0;
    case SamplerKind::typical_p:
      return o.typical_p < 1;
    case SamplerKind::top_p:
      return o.top_p < 1;
    case SamplerKind::min_p:
      return o.min_p > 0;
    case SamplerKind::xtc:
      return o.xtc_probability > 0;
    case SamplerKind::temperature:
    case SamplerKind::adaptive_p:
      break;
  }
  return true;
}

// Until the chain has cut the row to top-k tokens, only the largest logits matter.
std::uint32_t keeps(const SamplerVocab& vocab, const SamplingOptions& o) {
  for (const SamplerKind kind : o.samplers) {
    // These change tokens of the window only; adaptive_p always comes last.
    if (kind == SamplerKind::penalties || kind == SamplerKind::dry || kind == SamplerKind::adaptive_p) continue;
    if (!has_effect(kind, o)) continue;
    // With a larger k the short list would not be much shorter.
    return kind == SamplerKind::top_k && static_cast<std::uint32_t>(o.top_k) <= vocab.n_vocab / 8
               ? static_cast<std::uint32_t>(o.top_k)
               : 0;
  }
  return 0;
}

llama_sampler* make_dry(const SamplerVocab& vocab, const SamplingOptions& o) {
  std::vector<const char*> breakers;
  breakers.reserve(o.dry_sequence_breakers.size());
  for (const std::string& text : o.dry_sequence_breakers) breakers.push_back(text.c_str());
  return llama_sampler_init_dry(vocab.vocab, o.dry_multiplier, o.dry_base, o.dry_allowed_length, o.dry_penalty_last_n,
                                breakers.data(), breakers.size());
}

llama_sampler* make_step(SamplerKind kind, const SamplerVocab& vocab, const SamplingOptions& o, std::uint32_t seed) {
  const auto keep = static_cast<std::size_t>(o.min_keep);
  switch (kind) {
    case SamplerKind::penalties:
      return llama_sampler_init_penalties(static_cast<std::int32_t>(vocab.n_vocab), o.penalty_last_n, o.repeat_penalty,
                                          o.frequency_penalty, o.presence_penalty);
    case SamplerKind::dry:
      return make_dry(vocab, o);
    case SamplerKind::top_n_sigma:
      return llama_sampler_init_top_n_sigma(o.top_n_sigma);
    case SamplerKind::top_k:
      return llama_sampler_init_top_k(o.top_k);
    case SamplerKind::typical_p:
      return llama_sampler_init_typical(o.typical_p, keep);
    case SamplerKind::top_p:
      return llama_sampler_init_top_p(o.top_p, keep);
    case SamplerKind::min_p:
      return llama_sampler_init_min_p(o.min_p, keep);
    case SamplerKind::xtc:
      return llama_sampler_init_xtc(o.xtc_probability, o.xtc_threshold, keep, seed);
    case SamplerKind::temperature:
      return llama_sampler_init_temp_ext(o.temperature, o.dynatemp_range, o.dynatemp_exponent);
    case SamplerKind::adaptive_p:
      break;
  }
  return llama_sampler_init_adaptive_p(o.adaptive_target, o.adaptive_decay, seed);
}

}  // namespace

bool is_plain_greedy(const SamplingOptions& o) {
  if (o.mirostat != 0 || o.temperature > 0 || o.dynatemp_range > 0 || !has(o, SamplerKind::temperature)) return false;
  return std::ranges::none_of(o.samplers, [&](SamplerKind kind) {
    switch (kind) {
      case SamplerKind::penalties:
      case SamplerKind::dry:
      case SamplerKind::typical_p:
      case SamplerKind::xtc:
        return has_effect(kind, o);
      case SamplerKind::adaptive_p:
        return true;
      default:  // the largest logit always stays
        return false;
    }
  });
}

SamplerChain make_chain(const SamplerVocab& vocab, const SamplingOptions& o) {
  llama_sampler_chain_params params = llama_sampler_chain_default_params();
  params.no_perf = true;
  SamplerChain made{.chain = OwnedSampler(llama_sampler_chain_init(params))};
  const auto add = [&](llama_sampler* one) { llama_sampler_chain_add(made.chain.get(), one); };
  const auto look_back = [&](std::int32_t tokens) {
    made.window = std::max(made.window, static_cast<std::uint32_t>(tokens));
  };
  // LLAMA_DEFAULT_SEED makes libllama choose a random seed. An explicit seed of that value is an ordinary seed.
  const std::uint32_t given = o.seed.value_or(LLAMA_DEFAULT_SEED);
  const std::uint32_t seed = o.seed && given == LLAMA_DEFAULT_SEED ? 0 : given;

  if (o.mirostat != 0) {
    add(llama_sampler_init_temp(o.temperature));
    add(o.mirostat == 1 ? llama_sampler_init_mirostat(static_cast<std::int32_t>(vocab.n_vocab), seed, o.mirostat_tau,
                                                      o.mirostat_eta, 100)
                        : llama_sampler_init_mirostat_v2(seed, o.mirostat_tau, o.mirostat_eta));
    return made;
  }
  for (const SamplerKind kind : o.samplers) {
    if (kind == SamplerKind::adaptive_p || !has_effect(kind, o)) continue;
    if (kind == SamplerKind::penalties) look_back(o.penalty_last_n);
    if (kind == SamplerKind::dry) look_back(o.dry_penalty_last_n);
    add(make_step(kind, vocab, o, seed));
  }
  made.keeps = keeps(vocab, o);
  add(has(o, SamplerKind::adaptive_p) ? make_step(SamplerKind::adaptive_p, vocab, o, seed)
                                      : llama_sampler_init_dist(seed));
  return made;
}

}  // namespace corral::engine
