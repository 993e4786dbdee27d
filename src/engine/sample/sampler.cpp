#include "engine/sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include <fmt/core.h>

#include "engine/llama/llama_log.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

std::string range(float low, float high) {
  constexpr float kAny = std::numeric_limits<float>::max();
  if (low == -kAny) return "a finite number";
  return high == kAny ? fmt::format("a finite number of at least {}", low)
                      : fmt::format("between {} and {}", low, high);
}

bool valid(const SamplerVocab& vocab, Token token) {
  return token >= 0 && static_cast<std::uint32_t>(token) < vocab.n_vocab;
}

// Every float option must be a number; these have bounds besides, because libllama asserts on them.
Result<> check(const SamplerVocab& vocab, const SamplingOptions& o) {
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
      {"adaptive_target", o.adaptive_target, -kAny, 1},
      {"adaptive_decay", o.adaptive_decay, 0, 0.99f},
      {"mirostat_tau", o.mirostat_tau, -kAny, kAny},
      {"mirostat_eta", o.mirostat_eta, -kAny, kAny},
      {"repeat_last_n", static_cast<float>(o.penalty_last_n), -1, kAny},
      {"dry_penalty_last_n", static_cast<float>(o.dry_penalty_last_n), -1, kAny},
      {"dry_allowed_length", static_cast<float>(o.dry_allowed_length), 0, kAny},
      {"mirostat", static_cast<float>(o.mirostat), 0, 2},
      {"min_keep", static_cast<float>(o.min_keep), 0, kAny},
  };
  for (const Row& row : rows) {
    if (row.value >= row.low && row.value <= row.high) continue;  // false for NaN too
    return fail(errc::invalid_argument,
                fmt::format("'{}' must be {}, not {}", row.name, range(row.low, row.high), row.value), row.name);
  }
  for (const LogitBias& bias : o.logit_bias) {
    if (!valid(vocab, bias.token)) {
      return fail(
          errc::invalid_argument,
          fmt::format("'logit_bias' has token {}, but the vocabulary ends at {}", bias.token, vocab.n_vocab - 1),
          "logit_bias");
    }
    if (std::isnan(bias.bias)) {
      return fail(errc::invalid_argument,
                  fmt::format("'logit_bias' must give token {} a number, or -infinity to forbid it", bias.token),
                  "logit_bias");
    }
  }
  return {};
}

std::vector<LogitBias> biases(const SamplerVocab& vocab, const SamplingOptions& o) {
  std::vector<LogitBias> list = o.logit_bias;
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  if (o.ignore_eos) {
    for (const Token token : vocab.end_tokens) list.push_back({token, kNever});
  }
  for (const Token token : vocab.suppressed) list.push_back({token, kNever});
  return list;
}

// Tokens that an option looks back at: for -1, all.
std::int32_t look_back(std::int32_t asked, std::uint32_t n_ctx) {
  const auto all = static_cast<std::int32_t>(std::min<std::uint32_t>(n_ctx, std::numeric_limits<std::int32_t>::max()));
  return asked < 0 ? all : std::min(asked, all);
}

Result<> check_triggers(const Model& model, const GrammarOptions& o) {
  for (const Token token : o.trigger_tokens) {
    if (model.valid(token)) continue;
    return fail(errc::invalid_argument,
                fmt::format("'grammar' has the trigger token {}, but the vocabulary ends at {}", token,
                            model.facts().n_vocab - 1),
                "grammar");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const SharedGrammar>> make_grammar(const Model& model, const GrammarOptions& o) {
  if (auto fine = check_triggers(model, o); !fine) return std::unexpected(std::move(fine.error()));
  const auto find_token = [&](std::string_view text) -> std::optional<Token> {
    const auto tokens = model.tokenize(text, false, true);
    return tokens && tokens->size() == 1 ? std::optional(tokens->front()) : std::nullopt;
  };
  return SharedGrammar::make(o, model.grammar_vocabulary(), find_token);
}

Result<std::unique_ptr<Sampler>> Sampler::make(const Model& model, const SamplingOptions& o,
                                               const std::optional<GrammarOptions>& grammar, std::uint32_t n_ctx) {
  std::shared_ptr<const SharedGrammar> shared;
  if (grammar) {
    shared = grammar->shared;
    if (!shared && !grammar->gbnf.empty()) {
      auto made = make_grammar(model, *grammar);
      if (!made) return std::unexpected(std::move(made.error()));
      shared = std::move(*made);
    }
  }
  return make({.n_vocab = model.facts().n_vocab,
               .vocab = model.vocab(),
               .end_tokens = model.end_tokens(),
               .suppressed = model.suppressed_tokens()},
              o, std::move(shared), n_ctx);
}

Result<std::unique_ptr<Sampler>> Sampler::make(const SamplerVocab& vocab, const SamplingOptions& given,
                                               std::shared_ptr<const SharedGrammar> grammar, std::uint32_t n_ctx) {
  if (auto checked = check(vocab, given); !checked) return std::unexpected(checked.error());
  SamplingOptions o = given;
  o.penalty_last_n = look_back(given.penalty_last_n, n_ctx);
  o.dry_penalty_last_n = look_back(given.dry_penalty_last_n, n_ctx);

  std::unique_ptr<Sampler> sampler(new Sampler(vocab.n_vocab));
  if (grammar) sampler->grammar_.emplace(std::move(grammar));
  sampler->biases_ = biases(vocab, o);
  for (const LogitBias& bias : sampler->biases_) sampler->biased_.push_back(bias.token);
  std::ranges::sort(sampler->biased_);
  sampler->biased_.erase(std::ranges::unique(sampler->biased_).begin(), sampler->biased_.end());
  const bool only_forbids = std::ranges::all_of(
      sampler->biases_, [](const LogitBias& one) { return one.bias == -std::numeric_limits<float>::infinity(); });
  sampler->plain_greedy_ = is_plain_greedy(o) && only_forbids && !sampler->grammar_;
  if (sampler->plain_greedy_) return sampler;
  try {  // libllama tokenizes DRY's breakers, and not every vocabulary has all bytes
    SamplerChain made = make_chain(vocab, o);
    sampler->chain_ = std::move(made.chain);
    sampler->short_list_ = made.keeps;
    sampler->window_ = TokenWindow(made.window);
  } catch (const std::out_of_range& thrown) {
    return fail(errc::invalid_argument,
                fmt::format("'dry_sequence_breakers' have no token list in this vocabulary ({})", thrown.what()),
                "dry_sequence_breakers");
  }
  return sampler;
}

void Sampler::prime(std::span<const Token> history) {
  if (!chain_) return;
  const std::size_t skipped = history.size() > window_.size() ? history.size() - window_.size() : 0;
  for (const Token token : history.subspan(skipped)) {
    llama_sampler_accept(chain_.get(), token);
    window_.push(token);
  }
}

// All tokens as candidates, biases added. False for a row that isn't numbers.
bool Sampler::fill(const float* logits) {
  candidates_.resize(n_vocab_);
  bool numbers = true;
  for (std::uint32_t i = 0; i < n_vocab_; ++i) {
    numbers &= logits[i] < std::numeric_limits<float>::infinity();
    candidates_[i] = {static_cast<Token>(i), logits[i], 0.0f};
  }
  for (const LogitBias& bias : biases_) candidates_[static_cast<std::size_t>(bias.token)].logit += bias.bias;
  array_ = {candidates_.data(), candidates_.size(), -1, false};
  return numbers;
}

// The candidates that decide what the chain gives, biases added.
bool Sampler::fill_short(const float* logits) {
  changed_.clear();
  std::ranges::set_union(biased_, window_.distinct(), std::back_inserter(changed_));
  if (!preselect({logits, n_vocab_}, short_list_, changed_, scratch_, candidates_)) return false;
  for (const LogitBias& bias : biases_)
    std::ranges::lower_bound(candidates_, bias.token, {}, &llama_token_data::id)->logit += bias.bias;
  array_ = {candidates_.data(), candidates_.size(), -1, false};
  return true;
}

Result<Token> Sampler::sample_greedy(const float* logits) {
  auto best = static_cast<Token>(argmax(logits, n_vocab_));
  if (std::ranges::binary_search(biased_, best)) {  // rare: the best of the others
    float largest = -std::numeric_limits<float>::infinity();
    best = kNoToken;
    for (Token token = 0; static_cast<std::uint32_t>(token) < n_vocab_; ++token) {
      if (!(logits[token] > largest) || std::ranges::binary_search(biased_, token)) continue;
      largest = logits[token];
      best = token;
    }
    if (best == kNoToken) return fail(errc::decode_failed, "the sampling options leave no token to choose from");
  }
  if (std::isfinite(logits[best])) return largest_ = best;
  return fail(errc::decode_failed, "the model's output is not a number");
}

Result<Token> Sampler::sample(const float* logits) {
  if (plain_greedy_) return sample_greedy(logits);
  try {
    return sample_chain(logits);
  } catch (const std::exception& thrown) {  // a grammar that is too ambiguous
    return fail(errc::decode_failed, fmt::format("sampling failed: {}", thrown.what()));
  }
}

Drawn Sampler::drawn(std::uint32_t n) {
  if (plain_greedy_) return {.probability = 1, .top = {{largest_, 1}}};
  // The last step of every chain has left the probabilities with the candidates.
  std::vector<TokenProbability> all;
  for (std::size_t i = 0; i < array_.size; ++i) {
    if (array_.data[i].p > 0) all.push_back({array_.data[i].id, array_.data[i].p});
  }
  const auto shown = std::min<std::size_t>(n, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(shown),
                            [](const TokenProbability& a, const TokenProbability& b) {
                              return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
                            });
  all.resize(shown);
  return {.probability = array_.data[array_.selected].p, .top = std::move(all)};
}

// The chain's choice among the candidates; none if they are all forbidden.
std::optional<Token> Sampler::pick() {
  llama_sampler_apply(chain_.get(), &array_);
  if (array_.selected < 0 || static_cast<std::size_t>(array_.selected) >= array_.size) return std::nullopt;
  const llama_token_data& chosen = array_.data[array_.selected];
  if (!(chosen.logit > -std::numeric_limits<float>::infinity())) return std::nullopt;
  return chosen.id;
}

Result<Token> Sampler::sample_chain(const float* logits) {
  if (!(short_list_ > 0 ? fill_short(logits) : fill(logits)))
    return fail(errc::decode_failed, "the model's output is not a number");
  std::optional<Token> token = pick();
  if (token && grammar_) {
    // Checking one token is cheap, checking the whole vocabulary is not: choose again among the allowed tokens only if
    // the choice is refused.
    if (!grammar_->allows(*token)) {
      fill(logits);
      const auto& allowed = grammar_->allowed();
      for (auto& candidate : candidates_) {
        if (!allowed[static_cast<std::size_t>(candidate.id)]) candidate.logit = -std::numeric_limits<float>::infinity();
      }
      token = pick();
    }
  }
  if (!token) {
    return fail(errc::decode_failed,
                grammar_ ? "the grammar allows no token here" : "the sampling options leave no token to choose from");
  }
  if (grammar_) grammar_->accept(*token);
  llama_sampler_accept(chain_.get(), *token);
  window_.push(*token);
  return *token;
}

}  // namespace corral::engine
