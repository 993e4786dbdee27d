#include "backends/engine_protocol.h"

#include <gtest/gtest.h>

namespace corral::backends {
namespace {

template <typename T>
T round_trip(const T& event) {
  const auto line = to_line(EngineEvent(event));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto parsed = parse_engine_event(line);
  EXPECT_TRUE(parsed) << line;
  EXPECT_TRUE(std::holds_alternative<T>(*parsed)) << line;
  return std::get<T>(*parsed);
}

TEST(EngineProtocol, ADownsizeAndItsAnswer) {
  EXPECT_TRUE(is_downsize(downsize_line()));
  EXPECT_FALSE(is_downsize(to_line(EngineLoad{})));
  EXPECT_FALSE(is_downsize("no json"));
  const auto event = parse_engine_event(to_line(EngineEvent(EngineDownsized{true, 3, 4096})));
  ASSERT_TRUE(event);
  const auto& read = std::get<EngineDownsized>(*event);
  EXPECT_TRUE(read.done);
  EXPECT_EQ(read.sessions, 3u);
  EXPECT_EQ(read.parked_bytes, 4096u);
}

TEST(EngineProtocol, WhatBecomesOfARequest) {
  using State = EngineRequest::State;
  for (const auto state : {State::read, State::prepared, State::ended}) {
    const auto read = round_trip(EngineRequest{"req-\"1\"", state});
    EXPECT_EQ(read.id, "req-\"1\"");
    EXPECT_EQ(read.state, state);
  }
  EXPECT_FALSE(parse_engine_event(R"({"request":{"id":"x","state":"lost"}})"));
  EXPECT_TRUE(round_trip(EngineReady{.sends_requests = true}).sends_requests);
  EXPECT_FALSE(round_trip(EngineReady{}).sends_requests);
}

TEST(EngineProtocol, LoadComesBackAsItWent) {
  EngineLoad load{"org/repo:Q8_0", "/models/a \"b\"\n\xC3\xA9.gguf", ModelType::reranking, {}};
  load.options = {4096, 8, 0, -1, "cuda"};
  load.options.lora = {"/a \"b\".gguf:0.5", "c"};
  load.options.speculative = 4;
  load.options.draft_model = "/models/small \"b\".gguf";
  const auto line = to_line(load);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto parsed = parse_engine_load(line);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->model, load.model);
  EXPECT_EQ(parsed->path, load.path);
  EXPECT_EQ(parsed->type, load.type);
  EXPECT_EQ(parsed->options, load.options);
}

TEST(EngineProtocol, APathThatIsNoUtf8ComesBackAsItWent) {
  const EngineLoad load{"m", "/mod\xE8les/a.gguf", ModelType::llm, {}};
  const auto parsed = parse_engine_load(to_line(load));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->path, load.path);
}

TEST(EngineProtocol, TheProjectorIsNoOption) {
  EngineLoad load{"m", "p", ModelType::llm, {}};
  EXPECT_FALSE(to_line(load).contains("projector"));
  load.mmproj = "/models/mmproj-\xE8.gguf";
  load.mmproj_offload = false;
  const auto parsed = parse_engine_load(to_line(load));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->mmproj, load.mmproj);
  EXPECT_FALSE(parsed->mmproj_offload);
  EXPECT_EQ(parsed->options, LoadOptions{});
  load.mmproj = "/models/mmproj.gguf";
  EXPECT_TRUE(to_line(load).contains(R"("projector":"/models/mmproj.gguf","projector_offload":false)"));
  EXPECT_TRUE(parse_engine_load(R"({"load":{"model":"m","path":"p"}})")->mmproj_offload);
}

TEST(EngineProtocol, PartsOnOtherMachinesComeBackInTheirOrder) {
  EngineLoad load{"m", "p", ModelType::llm, {}};
  load.remotes = {{"box \"b\"", "127.0.0.1:40123", 2.5}, {"c", "127.0.0.1:40124", 1}};
  load.own_share = 3;
  const auto parsed = parse_engine_load(to_line(load));
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->remotes.size(), 2u);
  EXPECT_EQ(parsed->remotes[0].name, "box \"b\"");
  EXPECT_EQ(parsed->remotes[0].endpoint, "127.0.0.1:40123");
  EXPECT_EQ(parsed->remotes[0].share, 2.5);
  EXPECT_EQ(parsed->remotes[1].name, "c");
  EXPECT_EQ(parsed->own_share, 3);
  EXPECT_TRUE(parse_engine_load(to_line(EngineLoad{"m", "p", ModelType::llm, {}}))->remotes.empty());
}

TEST(EngineProtocol, OptionsThatAreNotSetStaySo) {
  const auto parsed = parse_engine_load(to_line(EngineLoad{"m", "p", ModelType::llm, {}}));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->options, LoadOptions{});
}

TEST(EngineProtocol, EventsComeBackAsTheyWent) {
  EXPECT_EQ(round_trip(EngineProgress{0.25}).fraction, 0.25);
  EXPECT_EQ(round_trip(EngineReady{32768}).context_window, 32768u);
  EXPECT_EQ(round_trip(EngineReady{1, "/lib/libggml-cpu-zen4.so"}).cpu_backend, "/lib/libggml-cpu-zen4.so");
  EXPECT_EQ(round_trip(EngineReady{1, "", Device::gpu}).device, Device::gpu);
  EXPECT_EQ(round_trip(EngineReady{1}).device, Device::none);
  for (const auto cause : {errc::load_failed, errc::load_out_of_memory, errc::load_never_fits,
                           errc::model_file_not_found, errc::invalid_option}) {
    const auto failed = round_trip(EngineFailed{cause, "why \"so\"\n"});
    EXPECT_EQ(failed.cause, cause);
    EXPECT_EQ(failed.message, "why \"so\"\n");
  }
  const auto stats = round_trip(RequestStats{100, 20, 30, 0.125, 64.5});
  EXPECT_EQ(stats.input_tokens, 100u);
  EXPECT_EQ(stats.output_tokens, 20u);
  EXPECT_EQ(stats.cached_tokens, 30u);
  EXPECT_EQ(stats.time_to_first_token, 0.125);
  EXPECT_EQ(stats.tokens_per_second, 64.5);
}

TEST(EngineProtocol, FailureCarriesTheOptionAndTheNumbers) {
  const EngineFailed sent{errc::load_never_fits, "too much", "ctx_size", {{"cpu", 1ull << 40, 1ull << 30}}};
  const Error error = round_trip(sent).error();
  EXPECT_EQ(error.code, errc::load_never_fits);
  EXPECT_EQ(error.param, "ctx_size");
  ASSERT_EQ(error.memory.size(), 1u);
  EXPECT_EQ(error.memory[0].device, "cpu");
  EXPECT_EQ(error.memory[0].need, 1ull << 40);
  EXPECT_EQ(error.memory[0].have, 1ull << 30);
}

TEST(EngineProtocol, EstimateComesBackAsItWent) {
  MemoryEstimate estimate;
  estimate.devices = {{"cpu", 1, 2, 3, 0}, {"cuda0", 4ull << 40, 5, 6, 7}};
  estimate.in_place = 8;
  estimate.mapped = 9;
  estimate.process = 10;
  EXPECT_EQ(round_trip(estimate), estimate);
  EXPECT_EQ(round_trip(MemoryEstimate{}), MemoryEstimate{});
}

TEST(EngineProtocol, CausesNobodyKnowsAreFailures) {
  const auto parsed = parse_engine_event(R"({"failed":{"cause":"gremlins","message":"boo"}})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(std::get<EngineFailed>(*parsed).cause, errc::load_failed);
}

TEST(EngineProtocol, OtherLinesAreRefused) {
  for (const auto* line : {"", "ready", "{", "[]", "null", "{}", R"({"load":{}})", R"({"hello":1})", "\xff\xfe"}) {
    EXPECT_FALSE(parse_engine_event(line)) << line;
  }
  for (const auto* line : {"", "{", "[]", "{}", R"({"ready":{}})"}) EXPECT_FALSE(parse_engine_load(line)) << line;
}

TEST(EngineProtocol, ValuesOfWrongKindsDoNoHarm) {
  const auto load = parse_engine_load(
      R"({"load":{"model":1,"path":null,"type":"nonesuch","ctx_size":1.5,"parallel":"4","threads":1e30,"gpu_layers":[],"speculative":"8","draft_model":7}})");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->options, LoadOptions{});
  EXPECT_EQ(load->type, ModelType::llm);

  const auto progress = parse_engine_event(R"({"progress":"half"})");
  ASSERT_TRUE(progress);
  EXPECT_EQ(std::get<EngineProgress>(*progress).fraction, 0);
  EXPECT_EQ(std::get<EngineProgress>(*parse_engine_event(R"({"progress":7})")).fraction, 1);

  const auto done =
      parse_engine_event(R"({"request_done":{"input":-5,"output":1e300,"cached":"x","ttft":[],"rate":null}})");
  ASSERT_TRUE(done);
  EXPECT_EQ(std::get<RequestStats>(*done).input_tokens, 0u);
  EXPECT_EQ(std::get<RequestStats>(*done).output_tokens, 0u);

  EXPECT_TRUE(parse_engine_event(R"({"ready":5})"));
  for (const auto* line : {R"({"estimate":5})", R"({"estimate":{"devices":{"device":"cpu"},"process":-1}})"})
    EXPECT_EQ(std::get<MemoryEstimate>(*parse_engine_event(line)), MemoryEstimate{}) << line;
  const auto failed = parse_engine_event(R"({"failed":{"cause":7,"message":[],"param":1,"memory":[5,{"need":"x"}]}})");
  EXPECT_EQ(std::get<EngineFailed>(*failed).memory.size(), 2u);
}

}  // namespace
}  // namespace corral::backends
