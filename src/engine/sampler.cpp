#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <regex>
#include <string>

#include <fmt/core.h>

#include "engine/errors.h"
#include "engine/llama_log.h"

namespace corral::engine {
namespace {

// Every float option must be a number; these have bounds besides, because libllama asserts on them.
Result<> check(const Model& model, const SamplingOptions& o) {
  struct Row {
    const char* name;
    float value;
    float low;
    float high;
  };
  constexpr float kAny = std::numeric_limits<float>::max();
  const Row rows[] = {
      {"temperature", o.temperature, -kAny, kAny},
      {"top_p", o.top_p, -kAny, kAny},
      {"min_p", o.min_p, -kAny, kAny},
      {"typical_p", o.typical_p, -kAny, kAny},
      {"top_n_sigma", o.top_n_sigma, -kAny, kAny},
      {"xtc_probability", o.xtc_probability, -kAny, kAny},
      {"xtc_threshold", o.xtc_threshold, -kAny, kAny},
      {"dynatemp_range", o.dynatemp_range, 0, kAny},
      {"dynatemp_exponent", o.dynatemp_exponent, -kAny, kAny},
      {"repeat_penalty", o.repeat_penalty, 1e-6f, kAny},
      {"frequency_penalty", o.frequency_penalty, -kAny, kAny},
      {"presence_penalty", o.presence_penalty, -kAny, kAny},
      {"dry_multiplier", o.dry_multiplier, 0, kAny},
      {"dry_base", o.dry_base, -kAny, kAny},
      {"mirostat_tau", o.mirostat_tau, -kAny, kAny},
      {"mirostat_eta", o.mirostat_eta, -kAny, kAny},
      {"repeat_last_n", static_cast<float>(o.penalty_last_n), 0, 1 << 24},
      {"dry_penalty_last_n", static_cast<float>(o.dry_penalty_last_n), 0, 1 << 24},
      {"dry_allowed_length", static_cast<float>(o.dry_allowed_length), 0, 1 << 24},
      {"mirostat", static_cast<float>(o.mirostat), 0, 2},
      {"min_keep", static_cast<float>(o.min_keep), 0, kAny},
  };
  for (const Row& row : rows) {
    if (row.value >= row.low && row.value <= row.high) continue;  // false for NaN too
    return fail(errc::invalid_argument, fmt::format("{} is {}, which is out of range", row.name, row.value), row.name);
  }
  for (const LogitBias& bias : o.logit_bias) {
    if (!model.valid(bias.token)) {
      return fail(errc::invalid_argument,
                  fmt::format("token {} is not in the vocabulary of {} tokens", bias.token, model.facts().n_vocab),
                  "logit_bias");
    }
    if (std::isnan(bias.bias))
      return fail(errc::invalid_argument, fmt::format("the bias of token {} is not a number", bias.token),
                  "logit_bias");
  }
  return {};
}

bool penalizes(const SamplingOptions& o) {
  return o.penalty_last_n > 0 &&
         (o.repeat_penalty != 1.0f || o.frequency_penalty != 0.0f || o.presence_penalty != 0.0f);
}

bool uses_dry(const SamplingOptions& o) {
  return o.dry_multiplier != 0.0f && o.dry_base >= 1.0f && o.dry_penalty_last_n > 0;
}

// With these options the chain ends in the largest logit whatever it does on the way.
bool is_plain_greedy(const SamplingOptions& o) {
  return o.temperature <= 0 && o.dynatemp_range <= 0 && o.mirostat == 0 && o.typical_p >= 1.0f &&
         o.xtc_probability <= 0 && !penalizes(o) && !uses_dry(o);
}

std::vector<llama_logit_bias> biases(const Model& model, const SamplingOptions& o) {
  std::vector<llama_logit_bias> list;
  for (const LogitBias& bias : o.logit_bias) list.push_back({bias.token, bias.bias});
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  if (o.ignore_eos) {
    for (const Token token : model.end_tokens()) list.push_back({token, kNever});
  }
  for (const Token token : model.suppressed_tokens()) list.push_back({token, kNever});
  return list;
}

Result<llama_sampler*> make_grammar(const Model& model, const GrammarOptions& o) {
  for (const Token token : o.trigger_tokens) {
    if (!model.valid(token))
      return fail(errc::invalid_argument, fmt::format("trigger token {} is not in the vocabulary", token), "grammar");
  }
  const LogCapture log;
  std::string cause;
  llama_sampler* grammar = nullptr;
  try {
    if (o.lazy) {
      // libllama would leak its grammar with the exception of a bad pattern.
      for (const std::string& pattern : o.trigger_patterns) std::regex checked(pattern);
      std::vector<const char*> patterns;
      for (const std::string& pattern : o.trigger_patterns) patterns.push_back(pattern.c_str());
      grammar =
          llama_sampler_init_grammar_lazy_patterns(model.vocab(), o.gbnf.c_str(), "root", patterns.data(),
                                                   patterns.size(), o.trigger_tokens.data(), o.trigger_tokens.size());
    } else {
      grammar = llama_sampler_init_grammar(model.vocab(), o.gbnf.c_str(), "root");
    }
    if (grammar != nullptr && !o.lazy) {
      for (const Token token : o.prefill) {
        if (!model.valid(token)) continue;
        // libllama aborts the process when an end comes where the grammar wants more.
        if (model.ends_generation(token)) throw std::invalid_argument("the begun answer has ended already");
        llama_sampler_accept(grammar, token);
      }
    }
  } catch (const std::exception& refused) {
    cause = refused.what();
    llama_sampler_free(grammar);
    grammar = nullptr;
  }
  if (grammar != nullptr) return grammar;
  if (cause.empty()) cause = log.text();
  return fail(errc::invalid_argument,
              fmt::format("the grammar can't be used: {}", cause.empty() ? "it doesn't parse" : cause), "grammar");
}

}  // namespace

std::uint32_t argmax(const float* values, std::uint32_t n) {
  // First the largest of each block, which the compiler turns into vector code, then the place in the best block.
  constexpr std::uint32_t kBlock = 1024;
  std::uint32_t best_block = 0;
  float best = -std::numeric_limits<float>::infinity();
  for (std::uint32_t begin = 0; begin < n; begin += kBlock) {
    const std::uint32_t end = std::min(n, begin + kBlock);
    float lanes[16];
    std::ranges::fill(lanes, -std::numeric_limits<float>::infinity());
    std::uint32_t i = begin;
    for (; i + 16 <= end; i += 16) {
      for (std::uint32_t lane = 0; lane < 16; ++lane)
        lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
    }
    float largest = *std::ranges::max_element(lanes);
    for (; i < end; ++i) largest = values[i] > largest ? values[i] : largest;
    if (largest > best) {
      best = largest;
      best_block = begin;
    }
  }
  for (std::uint32_t i = best_block; i < std::min(n, best_block + kBlock); ++i) {
    if (values[i] == best) return i;
  }
  return 0;
}

Result<std::unique_ptr<Sampler>> Sampler::make(const Model& model, const SamplingOptions& o,
                                               const std::optional<GrammarOptions>& grammar) {
  if (auto checked = check(model, o); !checked) return std::unexpected(checked.error());
  std::unique_ptr<Sampler> sampler(new Sampler(model));
  if (grammar && !grammar->gbnf.empty()) {
    auto made = make_grammar(model, *grammar);
    if (!made) return std::unexpected(made.error());
    sampler->grammar_.reset(*made);
  }
  const std::vector<llama_logit_bias> bias = biases(model, o);
  const bool only_forbids = std::ranges::all_of(
      bias, [](const llama_logit_bias& one) { return one.bias == -std::numeric_limits<float>::infinity(); });
  sampler->plain_greedy_ = is_plain_greedy(o) && only_forbids && !sampler->grammar_;
  if (sampler->plain_greedy_) {
    for (const llama_logit_bias& one : bias) sampler->forbidden_.push_back(one.token);
    std::ranges::sort(sampler->forbidden_);
    return sampler;
  }

  llama_sampler_chain_params params = llama_sampler_chain_default_params();
  params.no_perf = true;
  sampler->chain_.reset(llama_sampler_chain_init(params));
  const auto add = [&](llama_sampler* one) { llama_sampler_chain_add(sampler->chain_.get(), one); };
  const auto n_vocab = static_cast<std::int32_t>(model.facts().n_vocab);
  const auto keep = static_cast<std::size_t>(o.min_keep);
  // LLAMA_DEFAULT_SEED asks libllama for a random one.
  const std::uint32_t seed = o.seed.value_or(LLAMA_DEFAULT_SEED);

  if (!bias.empty()) add(llama_sampler_init_logit_bias(n_vocab, static_cast<std::int32_t>(bias.size()), bias.data()));
  if (o.mirostat != 0) {
    add(llama_sampler_init_temp(o.temperature));
    add(o.mirostat == 1 ? llama_sampler_init_mirostat(n_vocab, seed, o.mirostat_tau, o.mirostat_eta, 100)
                        : llama_sampler_init_mirostat_v2(seed, o.mirostat_tau, o.mirostat_eta));
    return sampler;
  }
  if (penalizes(o)) {
    add(llama_sampler_init_penalties(n_vocab, o.penalty_last_n, o.repeat_penalty, o.frequency_penalty,
                                     o.presence_penalty));
    sampler->look_back_ = static_cast<std::uint32_t>(o.penalty_last_n);
  }
  if (uses_dry(o)) {
    std::vector<const char*> breakers;
    for (const std::string& text : o.dry_sequence_breakers) breakers.push_back(text.c_str());
    add(llama_sampler_init_dry(model.vocab(), o.dry_multiplier, o.dry_base, o.dry_allowed_length, o.dry_penalty_last_n,
                               breakers.data(), breakers.size()));
    sampler->look_back_ = std::max(sampler->look_back_, static_cast<std::uint32_t>(o.dry_penalty_last_n));
  }
  add(llama_sampler_init_top_n_sigma(o.top_n_sigma));
  add(llama_sampler_init_top_k(o.top_k));
  add(llama_sampler_init_typical(o.typical_p, keep));
  add(llama_sampler_init_top_p(o.top_p, keep));
  add(llama_sampler_init_min_p(o.min_p, keep));
  add(llama_sampler_init_xtc(o.xtc_probability, o.xtc_threshold, keep, seed));
  add(llama_sampler_init_temp_ext(o.temperature, o.dynatemp_range, o.dynatemp_exponent));
  add(llama_sampler_init_dist(seed));
  return sampler;
}

void Sampler::prime(std::span<const Token> history) {
  if (!chain_) return;
  const std::size_t skipped = history.size() > look_back_ ? history.size() - look_back_ : 0;
  for (const Token token : history.subspan(skipped)) llama_sampler_accept(chain_.get(), token);
}

void Sampler::fill(const float* logits) {
  candidates_.resize(n_vocab_);
  for (std::uint32_t i = 0; i < n_vocab_; ++i) candidates_[i] = {static_cast<Token>(i), logits[i], 0.0f};
  array_ = {candidates_.data(), candidates_.size(), -1, false};
}

Result<Token> Sampler::sample_greedy(const float* logits) const {
  auto best = static_cast<Token>(argmax(logits, n_vocab_));
  if (std::ranges::binary_search(forbidden_, best)) {  // rare: the best of the others
    float largest = -std::numeric_limits<float>::infinity();
    best = kNoToken;
    for (Token token = 0; static_cast<std::uint32_t>(token) < n_vocab_; ++token) {
      if (!(logits[token] > largest) || std::ranges::binary_search(forbidden_, token)) continue;
      largest = logits[token];
      best = token;
    }
    if (best == kNoToken) return fail(errc::decode_failed, "the sampling options leave no token to choose from");
  }
  if (std::isfinite(logits[best])) return best;
  return fail(errc::decode_failed, "the model's output is not a number");
}

Result<Token> Sampler::sample(const float* logits) {
  if (plain_greedy_) return sample_greedy(logits);
  try {
    return sample_chain(logits);
  } catch (const std::exception& thrown) {  // a grammar's inner contradiction
    return fail(errc::decode_failed, fmt::format("sampling failed: {}", thrown.what()));
  }
}

Result<Token> Sampler::sample_chain(const float* logits) {
  const auto pick = [&]() -> std::optional<Token> {
    llama_sampler_apply(chain_.get(), &array_);
    if (array_.selected < 0 || static_cast<std::size_t>(array_.selected) >= array_.size) return std::nullopt;
    const llama_token_data& chosen = array_.data[array_.selected];
    // A forbidden token: everything was forbidden.
    if (!(chosen.logit > -std::numeric_limits<float>::infinity())) return std::nullopt;
    return chosen.id;
  };
  fill(logits);
  std::optional<Token> token = pick();
  if (token && grammar_) {
    // Asking about one token is cheap, about a whole vocabulary not: only if the choice is refused, choose again among
    // what the grammar allows.
    llama_token_data one{*token, 1.0f, 0.0f};
    llama_token_data_array only{&one, 1, -1, false};
    llama_sampler_apply(grammar_.get(), &only);
    if (!(one.logit > -std::numeric_limits<float>::infinity())) {
      fill(logits);
      llama_sampler_apply(grammar_.get(), &array_);
      token = pick();
    }
  }
  if (!token) {
    return fail(errc::decode_failed,
                grammar_ ? "the grammar allows no token here" : "the sampling options leave no token to choose from");
  }
  if (grammar_) llama_sampler_accept(grammar_.get(), *token);
  llama_sampler_accept(chain_.get(), *token);
  return *token;
}

}  // namespace corral::engine
