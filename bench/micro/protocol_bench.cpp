// The check that every request body passes before it may load or evict anything.
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "protocol/fields.h"

namespace corral::protocol {
namespace {

// A chat request whose one message is `content`; the model's name stands last, so that a check has to pass it all.
std::string chat_body(const std::string& content) {
  return fmt::format(
      R"({{"messages":[{{"role":"system","content":"You are a helpful assistant."}},{{"role":"user","content":"{}"}}],)"
      R"("temperature":0.7,"top_p":0.9,"max_tokens":256,"stream":true,"model":"qwen3-8b-q4_k_m"}})",
      content);
}

std::string repeated(std::string_view piece, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text.append(piece);
  return text;
}

void run(benchmark::State& state, const std::string& body) {
  for (auto _ : state) {
    auto peeked = check(body, chat_fields());
    if (!peeked) {
      state.SkipWithError(peeked.error().message.c_str());
      break;
    }
    benchmark::DoNotOptimize(peeked);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * body.size()));
}

constexpr std::size_t kLarge = 4 << 20;

void check_300_bytes(benchmark::State& state) { run(state, chat_body(repeated("What is a corral? ", 110))); }
BENCHMARK(check_300_bytes);

void check_4mb_plain(benchmark::State& state) { run(state, chat_body(repeated("All work and no play. ", kLarge))); }
BENCHMARK(check_4mb_plain)->Unit(benchmark::kMicrosecond);

void check_4mb_escapes(benchmark::State& state) {
  run(state, chat_body(repeated(R"(a \"line\"\n\tof code\\)", kLarge)));
}
BENCHMARK(check_4mb_escapes)->Unit(benchmark::kMicrosecond);

void check_4mb_many_messages(benchmark::State& state) {
  const auto content = repeated("Hello there. ", 1000);
  std::string messages;
  while (messages.size() < kLarge)  // 3,900
    messages +=
        fmt::format(R"({{"role":"user","content":"{}"}},{{"role":"assistant","content":"{}"}},)", content, content);
  messages.pop_back();
  run(state, fmt::format(R"({{"messages":[{}],"model":"qwen3-8b-q4_k_m"}})", messages));
}
BENCHMARK(check_4mb_many_messages)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace corral::protocol
