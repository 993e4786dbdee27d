// Thousands of random steps against the shell: requests that come and leave, loads that end in every way, processes
// that die, people who load, unload and pin, time that passes. Whatever the order, it must hold that
//   - every request that isn't given up gets exactly one outcome, and the answer of the model it named
//   - never more models of a type than it has slots, never two loads at once
//   - no server that still answers requests is stopped
//   - at the end nothing is left (RouterTest::TearDown)
// A failure names its seed; run that one alone with --gtest_filter=Seeds/RandomTest.*/<seed>.
#include <random>
#include <set>

#include "backends/errors.h"
#include "http/sse.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

constexpr int kSteps = 1500;
constexpr std::size_t kMaxRequests = 24;

class RandomTest : public RouterTest, public testing::WithParamInterface<int> {
 protected:
  struct Request {
    std::string model;
    Pending<http::Response> response;
    std::optional<Reader> reader;

    bool over() const { return reader && reader->ended(); }
  };

  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  bool chance(std::size_t percent) { return below(100) < percent; }
  const std::string& any_model() {
    static const std::vector<std::string> kNames = {"a", "b", "c", "d", "e", "f"};
    return kNames[below(kNames.size())];
  }

  std::vector<std::shared_ptr<backends::FakeServer>> servers_in(backends::FakeServer::State state) {
    std::vector<std::shared_ptr<backends::FakeServer>> found;
    for (const auto& fake : backend.servers()) {
      if (fake->state() == state) found.push_back(fake);
    }
    return found;
  }
  std::vector<std::pair<std::string, std::shared_ptr<backends::FakeRequest>>> running_requests() {
    std::vector<std::pair<std::string, std::shared_ptr<backends::FakeRequest>>> found;
    for (const auto& fake : servers_in(backends::FakeServer::State::ready)) {
      for (const auto& request : fake->requests()) {
        if (!request->over()) found.emplace_back(fake->model(), request);
      }
    }
    return found;
  }

  void step() {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return begin_request();
      case 4:
        return give_up_request();
      case 5:
      case 6:
      case 7:
        return answer_something();
      case 8:
      case 9:
      case 10:
        return end_a_load();
      case 11:
        return die();
      case 12:
        return control();
      case 13:
        if (control_.size() > 4) control_.erase(control_.begin());
        return;
      case 14:
        for (const auto& fake : backend.servers())
          if (chance(60)) fake->let_stop();
        return;
      default:
        timers.advance(Millis(below(1500)));
    }
  }

  void begin_request() {
    if (requests_.size() >= kMaxRequests) return;
    const auto name = any_model();
    // Few are copies of others: those that end processes are kept off.
    auto body = chance(10) ? std::string("{}") : std::to_string(++bodies_);
    ForwardRequest request{model(name), protocol::Ask::completion, std::move(body), chance(50), RequestId("r")};
    Pending<http::Response> response(loop.executor(), answered(forwarder->forward(std::move(request))));
    requests_.push_back({name, std::move(response), std::nullopt});
  }
  void give_up_request() {
    if (requests_.empty()) return;
    requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(below(requests_.size())));
  }
  void answer_something() {
    const auto running = running_requests();
    if (running.empty()) return;
    const auto& [name, request] = running[below(running.size())];
    switch (below(6)) {
      case 0:
        return begin(*request);
      case 1:
        return begin(*request), request->send(name);
      case 2:
        return request->break_off(), void(broken_.insert(request.get()));
      default:
        begin(*request), request->send(name), request->end();
    }
  }
  // Answers that don't stream are JSON; only those are asked for again.
  static void begin(backends::FakeRequest& request) { request.begin_stream(200, "application/json"); }
  void end_a_load() {
    for (const auto& fake : servers_in(backends::FakeServer::State::loading)) {
      if (chance(75)) return fake->finish_load();
      static constexpr backends::errc kCauses[] = {backends::errc::load_failed, backends::errc::load_out_of_memory,
                                                   backends::errc::model_file_not_found};
      return fake->fail_load({make_error_code(kCauses[below(3)]), "chance"});
    }
  }
  void die() {
    const auto state = chance(70) ? backends::FakeServer::State::ready : backends::FakeServer::State::loading;
    const auto candidates = servers_in(state);
    if (candidates.empty()) return;
    const auto& fake = candidates[below(candidates.size())];
    died_.insert(fake.get());
    fake->die();
  }
  void control() {
    const auto name = any_model();
    backends::LoadOptions options;
    if (chance(50)) options.ctx_size = 1024;
    switch (below(8)) {
      case 0:
        return keep(as_bool(router->unload(ModelName(name))));
      case 1:
        if (chance(20)) keep(as_bool(router->unload_all()));
        return;
      case 2:
        return keep(as_bool(router->pin(ModelName(name), chance(30))));
      default:
        return keep(as_bool(router->load(model(name), options, chance(20) ? std::optional(chance(30)) : std::nullopt)));
    }
  }
  template <typename T>
  static async::Task<bool> as_bool(async::Task<Result<T>> task) {
    const auto result = co_await std::move(task);
    co_return result.has_value();
  }
  void keep(async::Task<bool> task) { control_.emplace_back(loop.executor(), std::move(task)); }

  // Answers that have begun are read; those that are over are looked at and forgotten.
  void follow() {
    settle();
    for (auto& request : requests_) {
      if (!request.reader && request.response.done())
        request.reader.emplace(loop.executor(), std::move(request.response.get()));
    }
    settle();
    std::erase_if(requests_, [&](const Request& request) {
      if (request.over()) judge(request);
      return request.over();
    });
    std::erase_if(control_, [](const auto& pending) { return pending.done(); });
  }

  void judge(const Request& request) {
    std::string text = request.reader->text();
    for (auto at = text.find(http::kSsePing); at == 0; at = text.find(http::kSsePing))
      text.erase(0, http::kSsePing.size());
    const bool failed = request.reader->status() != 200 || text.find("\"error\"") != std::string::npos;
    ++(failed ? failed_ : answered_);
    text.erase(std::min(text.find("data:"), text.size()));
    if (request.reader->status() == 200) {
      EXPECT_EQ(text.find_first_not_of(request.model), std::string::npos) << request.model << " got " << text;
    }
  }

  void check() {
    std::size_t loading = 0, llms = 0, embeddings = 0;
    for (const auto& fake : backend.servers()) {
      const auto state = fake->state();
      if (state == backends::FakeServer::State::gone) {
        if (died_.contains(fake.get())) continue;
        for (const auto& request : fake->requests()) ASSERT_TRUE(!request->broken() || broken_.contains(request.get()));
      } else {
        loading += state == backends::FakeServer::State::loading;
        ++(model(fake->model())->type == ModelType::llm ? llms : embeddings);
      }
    }
    ASSERT_LE(loading, 1u);
    ASSERT_LE(llms, 2u);
    ASSERT_LE(embeddings, 1u);
  }

  // Everything goes well from here on: all that waits must come to its end.
  void finish() {
    for (int round = 0; round < 400 && !(requests_.empty() && control_.empty()); ++round) {
      for (const auto& fake : backend.servers()) fake->let_stop();
      for (const auto& fake : servers_in(backends::FakeServer::State::loading)) fake->finish_load();
      for (const auto& [name, request] : running_requests()) {
        begin(*request);
        request->send(name);
        request->end();
      }
      timers.advance(500ms);
      follow();
      check();
    }
    EXPECT_THAT(requests_, IsEmpty());
    EXPECT_THAT(control_, IsEmpty());
  }

  std::mt19937 random_{static_cast<std::uint32_t>(GetParam())};
  std::vector<Request> requests_;
  std::vector<Pending<bool>> control_;
  std::set<const backends::FakeServer*> died_;
  std::set<const backends::FakeRequest*> broken_;
  std::size_t answered_ = 0, failed_ = 0, bodies_ = 0;
};

TEST_P(RandomTest, EveryRequestGetsOneOutcomeAndNothingIsLeft) {
  auto options = slots(2);
  options.residency.limits.set(ModelType::embedding, 1);
  options.residency.cooldown_first = 1000ms;
  options.residency.cooldown_max = 2000ms;
  options.load_timeout = 20'000ms;
  start(options);
  for (const auto* name : {"e", "f"}) model(name, ModelType::embedding);
  backend.load_at_once = GetParam() % 5 == 0;
  backend.stop_at_once = GetParam() % 3 != 0;
  for (int i = 0; i < kSteps && !HasFatalFailure(); ++i) {
    step();
    if (chance(70)) follow();
    check();
  }
  finish();
  EXPECT_GT(answered_, failed_ / 4);
  requests_.clear();
  control_.clear();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTest, testing::Range(1, 41));

}  // namespace
}  // namespace corral::router
