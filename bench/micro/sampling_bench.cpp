// What a token costs after the forward pass, at the vocabulary of a large model.
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/sample/logprobs.h"
#include "engine/sample/sampler.h"

namespace corral::engine {
namespace {

constexpr std::uint32_t kVocab = 152'064;

// Rows as models give them: most tokens far below, some near the top. Several, so that nothing is learnt by heart and
// the caches see what they see behind a batch.
const std::vector<std::vector<float>>& rows() {
  static const std::vector<std::vector<float>> made = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(-2, 2.5f);
    std::vector<std::vector<float>> all(8, std::vector<float>(kVocab));
    for (auto& row : all) {
      for (float& logit : row) logit = normal(random);
      for (int i = 0; i < 20; ++i) row[random() % kVocab] += 8;
    }
    return all;
  }();
  return made;
}

void run(benchmark::State& state, const SamplingOptions& options) {
  auto sampler = Sampler::make({.n_vocab = kVocab, .end_tokens = {}}, options, nullptr, 32'768);
  if (!sampler) return state.SkipWithError(sampler.error().message.c_str());
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize((*sampler)->sample(rows()[at++ % rows().size()].data()));
}

SamplingOptions seeded() {
  SamplingOptions options;
  options.seed = 1;
  return options;
}

void sample_greedy(benchmark::State& state) {
  SamplingOptions options;
  options.temperature = 0;
  run(state, options);
}
BENCHMARK(sample_greedy)->Unit(benchmark::kMicrosecond);

void sample_default(benchmark::State& state) { run(state, seeded()); }
BENCHMARK(sample_default)->Unit(benchmark::kMicrosecond);

void sample_penalties(benchmark::State& state) {
  auto options = seeded();
  options.repeat_penalty = 1.1f;
  options.presence_penalty = 0.5f;
  run(state, options);
}
BENCHMARK(sample_penalties)->Unit(benchmark::kMicrosecond);

void sample_whole_vocabulary(benchmark::State& state) {
  auto options = seeded();
  options.top_k = 0;
  run(state, options);
}
BENCHMARK(sample_whole_vocabulary)->Unit(benchmark::kMicrosecond);

void logprobs_of_five(benchmark::State& state) {
  std::vector<Token> found;
  std::size_t at = 0;
  for (auto _ : state) {
    const auto& row = rows()[at++ % rows().size()];
    most_likely(row, 5, found);
    benchmark::DoNotOptimize(log_sum_exp(row, row[static_cast<std::size_t>(found.front())]));
  }
}
BENCHMARK(logprobs_of_five)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace corral::engine
