// Statistics of the last hour: what a row has, and GET stats/history.
#include "api/admin/stats_history.h"

#include "api/admin/stats_recorder.h"
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

using testing::DoubleNear;

class StatsHistoryTest : public testing::Test {
 protected:
  residency::Now now() const { return {.mono = mono, .wall = wall}; }
  void pass(Millis time = 10s) {
    mono += time;
    wall += time;
  }
  const StatsRow& add(StatsSample sample = {}) {
    pass();
    history.add(sample, now());
    return history.rows().back();
  }
  std::vector<double> output_tokens() const {
    std::vector<double> all;
    for (const auto& row : history.rows()) all.push_back(row.output_tokens);
    return all;
  }

  MonoTime mono{std::chrono::hours(24)};
  WallTime wall{std::chrono::hours(24 * 365)};
  StatsHistory history{mono};
};

TEST_F(StatsHistoryTest, RowsHaveCountsOfTheirIntervalAndStatesOfItsEnd) {
  history.add({.totals = {.requests = 5, .loads = 2}}, now());
  EXPECT_THAT(history.rows(), IsEmpty()) << "the first sample is the base";
  const auto row = add({.running_requests = 3,
                        .load_queue_requests = 4,
                        .totals = {.requests = 9, .failed_requests = 1, .loads = 2, .evictions = 1}});
  EXPECT_EQ(row.requests, 4u);
  EXPECT_EQ(row.failed_requests, 1u);
  EXPECT_EQ(row.loads, 0u);
  EXPECT_EQ(row.evictions, 1u);
  EXPECT_EQ(row.running_requests, 3u);
  EXPECT_EQ(row.load_queue_requests, 4u);
  EXPECT_EQ(row.seconds(), 10);
  EXPECT_EQ(row.time, wall);
}

TEST_F(StatsHistoryTest, KeepsAnHour) {
  history.add({}, now());
  for (std::uint64_t i = 1; i <= 3 * StatsHistory::kRows; ++i) add({.totals = {.requests = i}});
  ASSERT_EQ(history.rows().size(), StatsHistory::kRows);
  EXPECT_EQ(history.rows().back().time - history.rows().front().time, 1h - 10s);
}

TEST_F(StatsHistoryTest, TokensBelongToTheTimeInWhichTheyWereComputed) {
  history.add({}, now());
  for (int i = 0; i < 3; ++i) add();
  pass(5s);
  // 100 tokens of output within 20 s, after a prompt of 40 tokens within 5 s.
  history.used(
      {.input_tokens = 50, .output_tokens = 100, .cached_tokens = 10, .time_to_first_token = 5, .tokens_per_second = 5},
      mono);
  pass(5s);
  history.add({}, now());
  EXPECT_THAT(output_tokens(),
              ElementsAre(DoubleNear(0, 1e-6), DoubleNear(25, 1e-6), DoubleNear(50, 1e-6), DoubleNear(25, 1e-6)));
  EXPECT_NEAR(history.rows()[1].input_tokens, 40, 1e-6);
}

TEST_F(StatsHistoryTest, TokensWithoutARateBelongToTheMoment) {
  history.add({}, now());
  add();
  pass(1s);
  history.used({.input_tokens = 30}, mono);
  const auto& row = add();
  EXPECT_NEAR(row.input_tokens, 30, 1e-6);
  EXPECT_EQ(row.output_tokens, 0);
  EXPECT_EQ(history.rows().front().input_tokens, 0);
}

TEST_F(StatsHistoryTest, AnAbsurdSpeedHarmsNothing) {
  history.add({}, now());
  add();
  pass(5s);
  history.used({.input_tokens = 30, .output_tokens = 100, .time_to_first_token = 1e300, .tokens_per_second = 1e-300},
               mono);
  const auto& row = add();
  EXPECT_NEAR(row.output_tokens, 0, 0.01);
  EXPECT_NEAR(row.input_tokens, 0, 0.01);
}

TEST_F(StatsHistoryTest, TimesAscendIfTheClockIsSetBack) {
  history.add({}, now());
  for (int i = 0; i < 6; ++i) add();
  wall -= 25s;
  add();
  ASSERT_EQ(history.rows().size(), 5u);
  for (std::size_t i = 1; i < history.rows().size(); ++i) EXPECT_LT(history.rows()[i - 1].time, history.rows()[i].time);
  EXPECT_EQ(history.rows().back().seconds(), 10) << "rates don't depend on the wall clock";
}

TEST_F(StatsHistoryTest, PoolsKeepTheirPlaceAndTheirLatestSize) {
  history.add({}, now());
  add({.pools = {{.id = "ram", .name = "RAM", .total = 8, .models = 1}}});
  add();
  add({.pools = {{.id = "gpu0", .name = "GPU", .total = 4, .models = 2},
                 {.id = "ram", .name = "RAM", .total = 9, .models = 3}}});
  ASSERT_EQ(history.pools().size(), 2u);
  EXPECT_EQ(history.pools()[0].total, 9u);
  EXPECT_THAT(history.rows()[1].pools, IsEmpty());
  const auto& last = history.rows()[2].pools;
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].pool, 1u);
  EXPECT_EQ(last[1].models, 3u);
  StatsSample many;
  for (int i = 0; i < 100; ++i) many.pools.push_back({.id = std::to_string(i)});
  EXPECT_EQ(add(many).pools.size(), StatsHistory::kMaxPools - 2);
}

TEST(StatsTotalsTest, EvictionsAreStopsByTheRules) {
  router::Metrics models;
  auto& stops = models[ModelName("a")].stops;
  stops[static_cast<std::size_t>(residency::StopReason::room)] = 1;
  stops[static_cast<std::size_t>(residency::StopReason::idle)] = 2;
  stops[static_cast<std::size_t>(residency::StopReason::reload)] = 4;
  stops[static_cast<std::size_t>(residency::StopReason::unload)] = 8;
  models[ModelName("b")].stops = stops;
  EXPECT_EQ(totals_of(models).evictions, 6u);
  EXPECT_EQ(totals_of(models).unloads, 16u);
}

class StatsApiTest : public ApiTest {
 protected:
  StatsApiTest() {
    context.admin.stats = &recorder;
    handler = make_api(context);
    tasks.spawn("statistics", recorder.run());
    settle();
  }
  ~StatsApiTest() override {
    tasks.cancel();
    settle();
  }
  json::Value history() { return get("/v1/stats/history").json(); }
  static std::string column(const json::Value& history, std::string_view name) {
    return json::serialize(*json::find(*json::find(history, "columns"), name));
  }

  StatsRecorder recorder{loop.executor(), router, forwarder, timers};
  async::TaskGroup tasks{loop.executor()};
};

TEST_F(StatsApiTest, ShowsRowsAndTotals) {
  for (const auto prefix : kPrefixes) EXPECT_EQ(get(std::string(prefix) + "stats/history").status, 200u);
  EXPECT_EQ(column(history(), "time"), "[]");
  have("tiny-llama");
  pass(10s);
  pass(8s);
  backend.server("tiny-llama").report({100, 40, 20, 0, 10});
  pass(2s);
  const auto after = history();
  const auto now = epoch_millis(timers.wall_now());
  EXPECT_EQ(column(after, "time"), fmt::format("[{},{}]", now - 10'000, now));
  EXPECT_EQ(column(after, "loads"), "[1,0]");
  EXPECT_EQ(column(after, "output_tokens_per_second"), "[0,4]");
  EXPECT_EQ(column(after, "input_tokens_per_second"), "[0,8]");
  EXPECT_EQ(column(after, "running_requests"), "[0,0]");
  const auto& totals = *json::find(after, "totals");
  EXPECT_EQ(json::number_or(totals, "loads", 0), 1);
  EXPECT_EQ(json::number_or(totals, "cached_tokens", 0), 20);
  EXPECT_EQ(json::number_or(after, "uptime_ms", 0), 20'000);
  EXPECT_EQ(json::number_or(after, "started", 0), static_cast<double>(now - 20'000));
  EXPECT_THAT(strings(json::find(after, "pools")), IsEmpty()) << "nothing measures the memory here";
}

TEST_F(StatsApiTest, ShowsRequestsThatRunOrWait) {
  const auto chat = send("POST", "/v1/completions", R"({"model":"tiny-llama","prompt":"x"})");
  pass(10s);
  auto waiting = history();
  EXPECT_EQ(column(waiting, "queued_requests"), "[1]");
  EXPECT_EQ(column(waiting, "running_requests"), "[0]");
  backend.server("tiny-llama").finish_load();
  settle();
  pass(10s);
  waiting = history();
  EXPECT_EQ(column(waiting, "queued_requests"), "[1,0]");
  EXPECT_EQ(column(waiting, "running_requests"), "[0,1]");
}

TEST_F(ApiTest, WithoutARecorderThereIsNoHistory) { EXPECT_EQ(get("/v1/stats/history").status, 404u); }

}  // namespace
}  // namespace corral::api
