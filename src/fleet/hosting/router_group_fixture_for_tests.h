// For tests of RouterGroupProcesses: over a simulated router, with its reports as lines of text. Both loops are one.
#pragma once

#include <fmt/format.h>

#include "fleet/hosting/router_group_processes.h"
#include "router/group_fixture_for_tests.h"

namespace corral::fleet {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// "started 1", "failed n2 1: why": numbers are terms.
class HouseReports final : public GroupReports {
 public:
  void engine_started(const mesh::ContentKey&, mesh::PlanTerm of) override { add("started {}", of.term); }
  void engine_progress(const mesh::ContentKey&, mesh::PlanTerm of, double done) override {
    progress.push_back(fmt::format("{}: {}", of.term, done));
  }
  void engine_drained(const mesh::ContentKey&, mesh::PlanTerm of) override { add("drained {}", of.term); }
  void engine_ended(const mesh::ContentKey&, mesh::PlanTerm of, EngineEnd how, std::string why) override {
    static constexpr const char* kWords[] = {"asked", "failed", "crashed", "given up"};
    add("ended {} {}", of.term, kWords[static_cast<std::size_t>(how)]);
    whys.push_back(std::move(why));
  }
  void worker_ready(const mesh::NodeId&, mesh::PlanTerm of, std::string socket, std::string llama) override {
    add("ready {} {} {}", of.term, socket, llama);
  }
  void worker_failed(const mesh::NodeId&, mesh::PlanTerm of, Error why) override {
    add("worker failed {}", of.term);
    whys.push_back(why.message);
  }
  void worker_reaped(const mesh::NodeId&, mesh::PlanTerm of) override { add("reaped {}", of.term); }
  void recalled(const mesh::NodeId&, mesh::PlanTerm of) override { add("recalled {}", of.term); }

  // Reports since the last call.
  std::vector<std::string> take() { return std::exchange(lines_, {}); }
  std::vector<std::string> whys;
  std::vector<std::string> progress;

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    lines_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  std::vector<std::string> lines_;
};

class RouterGroupProcessesTest : public router::GroupRouterTest {
 protected:
  using Lines = std::vector<std::string>;

  void SetUp() override {
    GroupRouterTest::SetUp();
    processes.emplace(
        RouterGroupParts{.home = loop,
                         .timers = timers,
                         .router = *router,
                         .find = [this](const std::string& name) { return name == "gone" ? nullptr : model(name); },
                         .engine =
                             [this](backends::EngineSplit split) {
                               splits.push_back(std::move(split));
                               engines.push_back(made(splits.back().memory.total));
                               return engines.back();
                             },
                         .worker =
                             [this](backends::ShareOrder order) {
                               shares.push_back(std::move(order));
                               workers.push_back(made(shares.back().bytes, "share"));
                               workers.back()->askable = false;
                               return WorkerBackend{.backend = workers.back(),
                                                    .socket = fmt::format("/run/share-{}", shares.back().number),
                                                    .llama = [] { return std::string("9.9"); }};
                             },
                         .caches = nullptr,
                         .llama = "9.9"});
    processes->listen(loop.executor(), &reports);
    settle();
  }
  void TearDown() override {
    auto stopped = run(processes->stop());
    pass(1000ms);
    EXPECT_TRUE(stopped.done());
    EXPECT_EQ(processes->leftovers(), 0u);
    settle();
    GroupRouterTest::TearDown();
  }

  static mesh::ContentKey content(std::uint8_t number) {
    mesh::ContentKey key;
    key.bytes[0] = number;
    return key;
  }
  static mesh::NodeId node(std::uint8_t number) {
    mesh::NodeId id;
    id.bytes[0] = number;
    return id;
  }
  static mesh::PlanTerm term(std::uint64_t number) { return {1, number}; }

  EngineOrder engine_order(std::uint64_t number, const std::string& name = "a") {
    return {.model = content(1),
            .name = name,
            .of = term(number),
            .parts = {{{"w", "127.0.0.1:1", 7}, "9.9"}},
            .own_share = 9,
            .own_bytes = 300,
            .own_cache = 50};
  }
  WorkerOrder worker_order(std::uint64_t number, std::uint64_t bytes = 300, std::uint8_t host = 2) {
    return {.host = node(host),
            .host_name = "laptop",
            .model_name = "big",
            .model = content(1),
            .of = term(number),
            .bytes = bytes,
            .llama = "9.9"};
  }
  Lines start(EngineOrder order) {
    processes->start_engine(std::move(order));
    return take_lines();
  }
  Lines have_engine(std::uint64_t number) {
    start(engine_order(number));
    engine().finish_load();
    return take_lines();
  }
  Lines drain(std::uint64_t number, std::optional<Millis> within = {}) {
    processes->drain_engine(content(1), term(number), within);
    return take_lines();
  }
  Lines stop(std::uint64_t number, std::string why = {}) {
    processes->stop_engine(content(1), term(number), std::move(why));
    return take_lines();
  }
  Lines open(WorkerOrder order) {
    processes->open_worker(std::move(order));
    return take_lines();
  }
  Lines have_worker(std::uint64_t number, std::uint64_t bytes = 300) {
    open(worker_order(number, bytes));
    worker().finish_load();
    return take_lines();
  }
  Lines reap(std::uint64_t number, std::uint8_t host = 2) {
    processes->reap_worker(node(host), term(number));
    return take_lines();
  }
  Lines take_lines() {
    settle();
    return reports.take();
  }
  backends::FakeServer& engine() { return server_of(engines.back()); }
  backends::FakeServer& worker() { return server_of(workers.back()); }

  std::optional<RouterGroupProcesses> processes;
  HouseReports reports;
  std::vector<backends::EngineSplit> splits;
  std::vector<backends::ShareOrder> shares;
  std::vector<BackendPtr> engines, workers;
};

}  // namespace corral::fleet
