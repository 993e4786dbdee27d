// What it costs to speak Ollama's language: a request, and each event of a stream.
#include <string>

#include <benchmark/benchmark.h>

#include "dialects/dialect.h"
#include "protocol/answers/piece.h"

namespace corral::dialects {
namespace {

const Endpoint& endpoint(const Dialect& dialect, std::string_view path) {
  for (const auto& one : dialect.endpoints) {
    if (one.path == path) return one;
  }
  std::abort();
}

const std::string kOllamaChat =
    R"({"model":"qwen3:8b","messages":[{"role":"system","content":"You are a helpful assistant."},)"
    R"({"role":"user","content":"What is the weather in Paris?"},{"role":"assistant","content":"","tool_calls":[)"
    R"({"function":{"name":"get_weather","arguments":{"city":"Paris"}}}]},)"
    R"({"role":"tool","tool_name":"get_weather","content":"rain, 12 degrees"}],"tools":[{"type":"function","function":)"
    R"({"name":"get_weather","description":"of a city","parameters":{"type":"object","properties":{"city":)"
    R"({"type":"string"}},"required":["city"]}}}],"options":{"num_ctx":8192,"temperature":0.7,"num_predict":256},)"
    R"("think":false,"keep_alive":"5m"})";

void ollama_request(benchmark::State& state) {
  const auto& chat = endpoint(ollama_dialect(), "/api/chat");
  for (auto _ : state) {
    auto asked = chat.read(kOllamaChat);
    if (!asked) return state.SkipWithError(asked.error().message.c_str());
    benchmark::DoNotOptimize(asked);
  }
}
BENCHMARK(ollama_request);

const std::string kEvent =
    R"({"id":"chatcmpl-5f3a2b1c0d9e8f7a","object":"chat.completion.chunk","created":1795448699,"model":"qwen3-8b",)"
    R"("system_fingerprint":"corral-0.1.0","choices":[{"index":0,"delta":{"content":" weather"},"finish_reason":null}]})";

void ollama_token(benchmark::State& state) {
  const auto& chat = endpoint(ollama_dialect(), "/api/chat");
  const auto asked = chat.read(kOllamaChat);
  const auto translator = chat.make_translator(*asked);
  std::string out;
  for (auto _ : state) {
    out.clear();
    const auto piece = protocol::read_answer(kEvent);
    translator->piece(out, *piece);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(ollama_token);

}  // namespace
}  // namespace corral::dialects
