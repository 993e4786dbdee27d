// What Anthropic's dialect adds: a request's translation, and that of one token of a stream.
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "dialects/anthropic/message_translator.h"
#include "dialects/anthropic/read.h"

namespace corral::dialects::anthropic {
namespace {

std::string repeated(std::string_view piece, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text.append(piece);
  return text;
}

std::string tools(int count) {
  std::string all;
  for (int i = 0; i < count; ++i) {
    all += fmt::format(
        R"({}{{"name":"tool_{}","description":"{}","input_schema":{{"type":"object","properties":{{"path":{{"type":"string","description":"Where to look"}},"lines":{{"type":"integer"}}}},"required":["path"]}}}})",
        i == 0 ? "" : ",", i, repeated("What this tool is for. ", 400));
  }
  return all;
}

// A conversation with so many calls of tools and their results behind the first question.
std::string body_of(int turns, int tool_count, std::size_t system_bytes) {
  std::string messages = R"({"role":"user","content":[{"type":"text","text":"What is a corral?"}]})";
  for (int i = 0; i < turns; ++i) {
    messages += fmt::format(
        R"(,{{"role":"assistant","content":[{{"type":"text","text":"I look."}},{{"type":"tool_use","id":"t{}","name":"tool_0","input":{{"path":"a.txt"}}}}]}},)"
        R"({{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{}","content":"{}"}}]}})",
        i, i, repeated("A line of a file.\\n", 600));
  }
  return fmt::format(
      R"({{"model":"qwen3-8b-q4_k_m","max_tokens":1024,"stream":true,"temperature":0.7,"system":[{{"type":"text","text":"{}","cache_control":{{"type":"ephemeral"}}}}],)"
      R"("messages":[{}],"tools":[{}]}})",
      repeated("You are a helpful assistant. ", system_bytes), messages, tools(tool_count));
}

void read(benchmark::State& state, const std::string& body) {
  for (auto _ : state) {
    auto asked = read_message(body);
    if (!asked) {
      state.SkipWithError(asked.error().message.c_str());
      break;
    }
    benchmark::DoNotOptimize(asked);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * body.size()));
}

void anthropic_read_chat(benchmark::State& state) { read(state, body_of(0, 0, 300)); }
BENCHMARK(anthropic_read_chat);
void anthropic_read_four_tools(benchmark::State& state) { read(state, body_of(2, 4, 1000)); }
BENCHMARK(anthropic_read_four_tools);
void anthropic_read_agent_64kb(benchmark::State& state) { read(state, body_of(30, 17, 16'000)); }
BENCHMARK(anthropic_read_agent_64kb)->Unit(benchmark::kMicrosecond);

// From the data of a canonical event to the bytes that go out.
void anthropic_translate_token(benchmark::State& state) {
  const auto asked = read_message(body_of(0, 0, 300));
  const auto translator = make_message_translator(*asked);
  const std::string event =
      R"({"id":"chatcmpl-2eTqN9pZ4dQyWc8RkBv1LmXo7Ha3S","object":"chat.completion.chunk","created":1700000000,)"
      R"("model":"qwen3-8b-q4_k_m","system_fingerprint":"b1-corral","choices":[{"index":0,"delta":{"content":" token"},)"
      R"("finish_reason":null}]})";
  std::string out;
  for (auto _ : state) {
    out.clear();
    translator->piece(out, *protocol::read_answer(event));
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(anthropic_translate_token);

}  // namespace
}  // namespace corral::dialects::anthropic
