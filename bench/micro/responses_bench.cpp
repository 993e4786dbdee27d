// What the Responses dialect adds: a request's translation, and that of one token of a stream.
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "dialects/responses/read.h"
#include "dialects/responses/response_translator.h"

namespace corral::dialects::responses {
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
        R"({}{{"type":"function","name":"tool_{}","description":"{}","parameters":{{"type":"object","properties":{{"path":{{"type":"string","description":"Where to look"}},"lines":{{"type":"integer"}}}},"required":["path"]}}}})",
        i == 0 ? "" : ",", i, repeated("What this tool is for. ", 400));
  }
  return all;
}

// A conversation with so many calls of tools and their results behind the first question.
std::string body_of(int turns, int tool_count, std::size_t instructions_bytes) {
  std::string items = R"({"role":"user","content":[{"type":"input_text","text":"What is a corral?"}]})";
  for (int i = 0; i < turns; ++i) {
    items += fmt::format(
        R"(,{{"role":"assistant","content":[{{"type":"output_text","text":"I look."}}]}},)"
        R"({{"type":"function_call","call_id":"c{}","name":"tool_0","arguments":"{{\"path\":\"a.txt\"}}"}},)"
        R"({{"type":"function_call_output","call_id":"c{}","output":"{}"}})",
        i, i, repeated("A line of a file.\\n", 600));
  }
  return fmt::format(
      R"({{"model":"qwen3-8b-q4_k_m","max_output_tokens":1024,"stream":true,"store":false,"temperature":0.7,"instructions":"{}",)"
      R"("input":[{}],"tools":[{}]}})",
      repeated("You are a helpful assistant. ", instructions_bytes), items, tools(tool_count));
}

void read(benchmark::State& state, const std::string& body) {
  for (auto _ : state) {
    auto asked = read_response(body);
    if (!asked) {
      state.SkipWithError(asked.error().message.c_str());
      break;
    }
    benchmark::DoNotOptimize(asked);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * body.size()));
}

void responses_read_chat(benchmark::State& state) { read(state, body_of(0, 0, 300)); }
BENCHMARK(responses_read_chat);
void responses_read_four_tools(benchmark::State& state) { read(state, body_of(2, 4, 1000)); }
BENCHMARK(responses_read_four_tools);
void responses_read_agent_64kb(benchmark::State& state) { read(state, body_of(30, 17, 16'000)); }
BENCHMARK(responses_read_agent_64kb)->Unit(benchmark::kMicrosecond);

// From the data of a canonical event to the bytes that go out.
void responses_translate_token(benchmark::State& state) {
  const auto asked = read_response(body_of(0, 0, 300));
  const std::string event =
      R"({"id":"chatcmpl-2eTqN9pZ4dQyWc8RkBv1LmXo7Ha3S","object":"chat.completion.chunk","created":1700000000,)"
      R"("model":"qwen3-8b-q4_k_m","system_fingerprint":"b1-corral","choices":[{"index":0,"delta":{"content":" token"},)"
      R"("finish_reason":null}]})";
  // An answer's text is told whole at its end, so it is kept: one of a usual length at a time.
  constexpr int kTokens = 500;
  std::string out;
  auto translator = make_response_translator(*asked);
  int tokens = 0;
  for (auto _ : state) {
    if (++tokens > kTokens) {
      state.PauseTiming();
      translator = make_response_translator(*asked);
      tokens = 0;
      state.ResumeTiming();
    }
    out.clear();
    translator->piece(out, *protocol::read_answer(event));
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(responses_translate_token);

}  // namespace
}  // namespace corral::dialects::responses
