// For tests of the API: the real handler, the real registry (of generated GGUF files), the real router, and a fake
// backend. No socket; the test runs the loop and moves the clock.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/routes.h"
#include "async/loop.h"
#include "async/offload.h"
#include "async/spawned_task.h"
#include "backends/fake_backend_for_tests.h"
#include "base/log.h"
#include "json/value.h"
#include "models/gguf/gguf_test_writer.h"
#include "models/temp_dir_for_tests.h"

namespace corral::api {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The client's answer.
struct Answer {
  unsigned status = 0;
  http::Headers headers;
  std::string text;

  json::Value json() const {
    auto parsed = json::parse(text);
    EXPECT_TRUE(parsed) << text;
    return parsed ? *parsed : json::Value();
  }
  // "error.FIELD" of the body.
  std::string error(std::string_view field) const {
    const auto body = json();
    const auto* error = json::find(body, "error");
    return error ? std::string(json::text_or(*error, field, "")) : "no error: " + text;
  }
};

// The strings of a list, or the member of this name of each of its objects.
inline std::vector<std::string> strings(const json::Value* list, std::string_view member = {}) {
  std::vector<std::string> all;
  if (!list || !list->is_array()) return {"no array"};
  for (const auto& entry : list->get_array()) {
    if (member.empty()) {
      all.emplace_back(entry.get_string().c_str());
    } else {
      all.emplace_back(json::text_or(entry, member, "?"));
    }
  }
  return all;
}

class ApiTest : public testing::Test {
 protected:
  using Pending = async::SpawnedTask<Answer>;

  ApiTest() {
    log::set_level(log::Level::none);
    using models::GgufWriter;
    GgufWriter::model("llama").text("tokenizer.chat_template", "{{ tools }}").save(dir / "tiny-llama.gguf");
    GgufWriter::model("qwen3").save(dir / "tiny-qwen3.gguf");
    GgufWriter::model("bert").u32("bert.pooling_type", 1).save(dir / "tiny-embed.gguf");
    GgufWriter::model("bert").u32("bert.pooling_type", 4).save(dir / "tiny-rerank.gguf");
    registry.rescan();
  }
  ~ApiTest() override {
    threads.finish();
    body_threads.finish();
    settle();
    async::SpawnedTask<bool> stopped(loop.executor(), "stop", stop());
    settle();
    timers.advance(2000ms);
    settle();
    EXPECT_EQ(router.leftovers(), "");
    EXPECT_EQ(timers.sleepers(), 0u);
  }
  async::Task<bool> stop() {
    co_await router.stop(Millis(1000));
    co_return true;
  }

  void settle() {
    loop.context().restart();
    loop.context().poll();
  }
  void pass(Millis time) {
    for (Millis left = time; left > 0ms; left -= 50ms) {
      timers.advance(50ms);
      settle();
    }
  }

  // Sends a request and doesn't wait. Destroying the result is a disconnect of the client.
  std::unique_ptr<Pending> send(std::string method, std::string path, std::string body = {}, std::string id = "req-7") {
    http::Request request;
    request.head.method = std::move(method);
    request.head.target = std::move(path);
    request.body = http::Body(std::move(body));
    request.id = RequestId(std::move(id));
    return start(std::move(request));
  }
  std::unique_ptr<Pending> start(http::Request request) {
    auto pending = std::make_unique<Pending>(loop.executor(), "request", client(std::move(request)));
    settle();
    return pending;
  }
  // The answer, if available.
  std::optional<Answer> got(Pending& pending) {
    async::SpawnedTask<bool> waiting(loop.executor(), "wait", pending.wait(timers, 0ms));
    settle();
    return waiting.take() ? std::optional(pending.take()) : std::nullopt;
  }
  // Waits for the answer, which must not need anything but the loop and the threads of the fixture.
  Answer finish(Pending& pending) {
    std::optional<Answer> answer;
    async::TaskGroup group(loop.executor());
    auto collect = [](Pending& asked, async::Timers& by, std::optional<Answer>& into) -> async::Task<void> {
      co_await asked.wait(by, 1h);
      into = asked.take();
    };
    group.spawn("finish", collect(pending, timers, answer));
    loop.context().restart();
    while (!answer) loop.context().run_one();
    settle();
    return *answer;
  }
  Answer ask(std::string method, std::string path, std::string body = {}) {
    return finish(*send(std::move(method), std::move(path), std::move(body)));
  }
  Answer get(std::string path) { return ask("GET", std::move(path)); }
  Answer post(std::string path, std::string body) { return ask("POST", std::move(path), std::move(body)); }

  // Loaded and idle.
  void have(const std::string& name) {
    auto loading = send("POST", "/v1/load", R"({"model_name":")" + name + R"("})");
    backend.server(name).finish_load();
    settle();
    ASSERT_EQ(got(*loading)->status, 200u);
  }
  // No request so far has caused an action of the router.
  void expect_untouched() { EXPECT_THAT(backend.servers(), IsEmpty()); }

 private:
  async::Task<Answer> client(http::Request request) {
    auto response = co_await handler->handle(std::move(request));
    Answer answer{response.head.status, response.head.headers, {}};
    auto text = co_await response.body.read_all(1 << 20);
    answer.text = text ? *text : "BROKEN " + text.error().message;
    co_return answer;
  }

 protected:
  const models::TempDir dir;
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  async::SystemTimers clock;  // of the scans, which happen on threads
  async::ThreadPool threads{1};
  async::ThreadPool body_threads{1};
  backends::FakeBackend backend{loop.executor()};
  models::Registry registry{{.models_dirs = {dir.path()}, .hub_cache = {}}};
  router::ModelRouter router{loop, timers, {&backend}, {}};
  router::Forwarder forwarder{router, timers};
  DiskCatalog finder{registry, threads, clock};
  ApiContext context{
      .core = {.router = router, .forwarder = forwarder, .timers = timers, .about = {.version = "1.2.3"}},
      .bodies = {.threads = &body_threads},
      .access = {.clock = timers},
      .files = {.models = finder, .timers = timers}};
  std::unique_ptr<http::Handler> handler = make_api(context);
};

inline constexpr std::string_view kPrefixes[] = {"/api/v1/", "/api/v0/", "/v1/", "/v0/"};

}  // namespace corral::api
