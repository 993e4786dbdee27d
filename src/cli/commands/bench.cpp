// The speed of a model, measured with real requests. Each prompt is the same random text in another order, so that no
// prefix of it is cached.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <fmt/format.h>

#include "base/split_mix.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/bench_wire.h"
#include "cli/terminal/format.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"

namespace corral::cli {
namespace {

constexpr auto kWords =
    std::to_array<std::string_view>({"river", "stone", "cloud", "seven", "green", "paper", "horse", "night", "table",
                                     "light", "north", "water", "eight", "music", "chair", "bread"});
constexpr int kMaxStreams = 256, kMaxTokens = 1'000'000, kMaxRounds = 1'000;

struct BenchOptions {
  std::string model;
  int streams = 1, prompt_tokens = 512, tokens = 128, rounds = 3;
};

// Of one round: means of its streams, but `overall`, which is the sum of all streams divided by the time.
struct BenchRound {
  BenchTimings mean;
  double overall = 0;
  double seconds = 0;
};

class Bench {
 public:
  Bench(const BenchOptions& options, CommandContext& context)
      : options_(options),
        context_(context),
        random_(static_cast<std::uint64_t>(epoch_millis(context.clock.wall_now()))) {}

  Result<int> run() {
    ProgressBar bar(context_.terminal, "Measuring " + options_.model);
    bar.show(0, "first requests");
    // They load the model.
    if (auto prepared = prepare(); !prepared) return std::unexpected(prepared.error());
    if (const auto warm = send({1, 1}, false); !warm) return std::unexpected(warm.error());
    std::vector<BenchRound> rounds;
    rounds.reserve(static_cast<std::size_t>(options_.rounds));
    for (int round = 0; round < options_.rounds; ++round) {
      bar.show(static_cast<double>(round) / options_.rounds, fmt::format("round {}", round + 1));
      const auto done = send({options_.streams, options_.tokens}, context_.json);
      if (!done) return std::unexpected(done.error());
      rounds.push_back(*done);
    }
    bar.clear();
    if (!context_.json) print(rounds);
    return kExitOk;
  }

 private:
  struct Size {
    int streams, tokens;
  };

  // Each word has one token or more.
  Result<> prepare() {
    std::string text;
    for (int i = 0; i < options_.prompt_tokens; ++i) text.append(kWords[below(kWords.size())]).append(" ");
    const auto answer = fetch(context_.api, ApiRequest::post("/tokenize", tokenize_body(options_.model, text)));
    if (!answer) return std::unexpected(answer.error());
    auto tokens = parse_tokens(*answer);
    if (!tokens) return std::unexpected(tokens.error());
    if (tokens->empty()) return fail(errc::bad_answer, fmt::format("{} returned no tokens", context_.api.url()));
    tokens_ = std::move(*tokens);
    tokens_.resize(std::min(tokens_.size(), static_cast<std::size_t>(options_.prompt_tokens)));
    return {};
  }

  Result<BenchRound> send(Size size, bool print_answers) {
    std::vector<ApiRequest> requests;
    requests.reserve(static_cast<std::size_t>(size.streams));
    for (int i = 0; i < size.streams; ++i) {
      shuffle();
      requests.push_back(ApiRequest::post("/api/v1/completions", bench_body(options_.model, tokens_, size.tokens)));
    }
    const auto began = context_.clock.now();
    const auto replies = context_.api.call_together(requests);
    if (!replies) return std::unexpected(replies.error());
    BenchRound round{.mean = {}, .seconds = seconds_between(began, context_.clock.now())};
    for (const ApiReply& reply : *replies) {
      if (reply.status >= 400) return std::unexpected(refusal(context_.api, reply));
      if (print_answers) print_json(context_, reply.body);
      const auto timings = parse_timings(reply.body);
      if (!timings) return std::unexpected(timings.error());
      add(round.mean, *timings, static_cast<double>(replies->size()));
      round.overall += timings->tokens;
    }
    round.overall = round.seconds > 0 ? round.overall / round.seconds : 0;
    return round;
  }

  static void add(BenchTimings& mean, const BenchTimings& one, double count) {
    mean.prompt_tokens += one.prompt_tokens / count;
    mean.prompt_per_second += one.prompt_per_second / count;
    mean.tokens += one.tokens / count;
    mean.tokens_per_second += one.tokens_per_second / count;
  }

  void print(const std::vector<BenchRound>& rounds) const {
    Table table({{"ROUND"},
                 {"STREAMS", Align::right},
                 {"PROMPT", Align::right},
                 {"PROMPT/S", Align::right},
                 {"TOKENS", Align::right},
                 {"TOKENS/S", Align::right},
                 {"ALL STREAMS", Align::right},
                 {"TIME", Align::right}});
    const auto add_row = [&](std::string name, const BenchRound& round) {
      table.add({std::move(name), std::to_string(options_.streams), fmt::format("{:.0f}", round.mean.prompt_tokens),
                 fmt::format("{:.1f}", round.mean.prompt_per_second), fmt::format("{:.0f}", round.mean.tokens),
                 fmt::format("{:.1f}", round.mean.tokens_per_second), fmt::format("{:.1f}", round.overall),
                 human_duration(Millis(static_cast<std::int64_t>(round.seconds * 1'000)))});
    };
    BenchRound mean{.mean = {}};
    const auto count = static_cast<double>(rounds.size());
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      add_row(std::to_string(i + 1), rounds[i]);
      add(mean.mean, rounds[i].mean, count);
      mean.overall += rounds[i].overall / count;
      mean.seconds += rounds[i].seconds / count;
    }
    if (rounds.size() > 1) add_row("mean", mean);
    table.print(context_.terminal);
  }

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_.next() % limit); }
  void shuffle() {
    for (std::size_t i = tokens_.size(); i > 1; --i) std::swap(tokens_[i - 1], tokens_[below(i)]);
  }

  const BenchOptions& options_;
  CommandContext& context_;
  SplitMix random_;
  std::vector<std::int64_t> tokens_;  // of the prompt
};

}  // namespace

Action declare_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  app.add_option("MODEL", options->model, "Name of the model, of the type llm")->required()->type_name("");
  app.add_option("--streams", options->streams, "Requests at the same time [1]")
      ->type_name("N")
      ->check(CLI::Range(1, kMaxStreams));
  app.add_option("--prompt-tokens", options->prompt_tokens, "Length of each prompt in tokens [512]")
      ->type_name("N")
      ->check(CLI::Range(1, kMaxTokens));
  app.add_option("--tokens", options->tokens, "Generated tokens of each request [128]")
      ->type_name("N")
      ->check(CLI::Range(1, kMaxTokens));
  app.add_option("--rounds", options->rounds, "Number of measurements [3]")
      ->type_name("N")
      ->check(CLI::Range(1, kMaxRounds));
  return [options](CommandContext& context) { return Bench(*options, context).run(); };
}

}  // namespace corral::cli
