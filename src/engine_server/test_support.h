// For the tests of engine_server: a server on one of the small models, asked in process.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/loop.h"
#include "engine_server/engine_server.h"
#include "http/sse.h"
#include "json/value.h"
#include "protocol/client_tag.h"

namespace corral::engine_server::test {

// $CORRAL_TEST_MODELS, else where script/models puts them.
inline std::string model_path(const std::string& name) {
  std::filesystem::path folder;
  if (const char* given = std::getenv("CORRAL_TEST_MODELS"); given && *given) {
    folder = given;
  } else if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) {
    folder = std::filesystem::path(cache) / "corral/test-models";
  } else {
    const char* home = std::getenv("HOME");
    folder = std::filesystem::path(home ? home : "/") / ".cache/corral/test-models";
  }
  const auto path = folder / (name + ".gguf");
  EXPECT_TRUE(std::filesystem::exists(path)) << "no test model at " << path << ": run script/models";
  return path.string();
}

inline std::unique_ptr<engine::InferenceEngine> load(const std::string& name, std::uint32_t n_ctx = 2048,
                                                     engine::Toggle flash_attention = engine::Toggle::automatic,
                                                     const engine::SpeculativeOptions& speculative = {}) {
  engine::EngineLoadOptions options;
  options.flash_attention = flash_attention;
  options.path = model_path(name);
  options.n_ctx = n_ctx;
  options.n_threads = 1;
  options.speculative = speculative;
  auto service = engine::InferenceEngine::load(std::move(options));
  if (!service) throw std::runtime_error(service.error().message);
  return std::move(*service);
}

struct Answer {
  unsigned status = 0;
  std::string type;
  std::string body;

  json::Value json() const {
    auto value = json::parse(body);
    EXPECT_TRUE(value) << body;
    return value ? *value : json::Value();
  }
  const json::Value choice() const { return json().at("choices").at(0); }
  // The data of each event.
  std::vector<std::string> events() const {
    std::vector<std::string> all;
    http::SseParser parser([&](std::string_view, std::string_view data) { all.emplace_back(data); });
    parser.feed(body);
    return all;
  }
  // The choices of each event, of one answer.
  std::vector<json::Value> streamed_choices(std::int64_t index = 0) const {
    std::vector<json::Value> all;
    for (const auto& event : events()) {
      const auto value = json::parse(event);
      if (!value) continue;
      const auto* choices = json::find(*value, "choices");
      if (!choices || choices->as_array().empty() || choices->at(0).at("index") != index) continue;
      all.push_back(choices->at(0));
    }
    return all;
  }
  // What the deltas of one answer add up to.
  std::string streamed(std::string_view part = "content", std::int64_t index = 0) const {
    std::string text;
    for (const auto& choice : streamed_choices(index)) {
      if (const auto* delta = json::find(choice, "delta")) text += json::text_or(*delta, part, "");
      text += json::text_or(choice, "text", "");
    }
    return text;
  }
};

class Fixture {
 public:
  explicit Fixture(const std::string& model, std::uint32_t n_ctx = 2048,
                   engine::Toggle flash_attention = engine::Toggle::automatic,
                   const engine::SpeculativeOptions& speculative = {})
      : Fixture(load(model, n_ctx, flash_attention, speculative), model) {}
  explicit Fixture(std::unique_ptr<engine::InferenceEngine> loaded, const std::string& name = "model",
                   EngineServerOptions options = {})
      : service(std::move(loaded)) {
    options.model_name = name;
    options.request_done = [this](const RequestRecord& record) { records.push_back(record); };
    server = std::make_unique<EngineServer>(*service, timers, pool, std::move(options));
  }

  Answer ask(const std::string& method, const std::string& path, std::string body = {},
             const std::string& client = {}) {
    http::Request request;
    if (!client.empty()) request.head.headers.add(protocol::kClientTag, client);
    request.head.method = method;
    request.head.target = path;
    request.body = http::Body(std::move(body));
    return async::run_blocking(loop, whole(server->handle(std::move(request))));
  }
  Answer post(const std::string& path, std::string body) { return ask("POST", path, std::move(body)); }
  // A chat with one user message and greedy sampling; `more` are further members, each with a comma in front.
  Answer chat(const std::string& text, const std::string& more = {}) {
    return post("/v1/chat/completions",
                R"({"messages":[{"role":"user","content":")" + text + R"("}],"temperature":0)" + more + "}");
  }

  static async::Task<Answer> whole(async::Task<http::Response> pending) {
    auto response = co_await std::move(pending);
    Answer answer{response.head.status, std::string(response.head.headers.get("Content-Type")), {}};
    if (auto* source = response.body.source()) {
      answer.body = source->take_ready();
    }
    auto rest = co_await response.body.read_all(1 << 24);
    EXPECT_TRUE(rest);
    answer.body += *rest;
    co_return answer;
  }

  async::Loop loop;  // outlives every thread that posts to it
  async::SystemTimers timers;
  std::unique_ptr<engine::InferenceEngine> service;
  async::ThreadPool pool{1};
  std::vector<RequestRecord> records;
  std::unique_ptr<EngineServer> server;
};

}  // namespace corral::engine_server::test
