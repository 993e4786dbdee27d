#include "engine/values/stats.h"

#include <set>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

TEST(Numbers, HistogramsCountWhatHappened) {
  const auto engine = load(load_options("tiny-llama"));
  const SessionId first = session_with(*engine, some_tokens(100)), second = session_with(*engine, some_tokens(100));
  generate(*engine, first, endless(20));
  generate(*engine, second, endless(30));
  (void)engine->sessions();
  const WorkerStats stats = engine->stats().total();
  EXPECT_EQ(stats.queue_seconds.count(), 2u);
  EXPECT_EQ(stats.first_token_seconds.count(), 2u);
  EXPECT_GE(stats.first_token_seconds.sum(), stats.queue_seconds.sum());
  EXPECT_EQ(stats.inter_token_seconds.count(), 48u);
  EXPECT_EQ(stats.step_tokens.count(), stats.steps);
  EXPECT_EQ(stats.step_tokens.sum(), static_cast<double>(stats.batch_tokens));
  EXPECT_EQ(stats.step_sessions.sum(), 50.0);  // each alone
  EXPECT_EQ(stats.prefix_hits, 1u);            // the second has the first one's prompt
  EXPECT_EQ(stats.cached_tokens, 99u);
}

TEST(Numbers, WhatIsParkedIsCounted) {
  const auto engine = load(load_options("tiny-llama"));
  const SessionId session = session_with(*engine, some_tokens(200));
  generate(*engine, session, endless(20));
  engine->downsize();
  const auto after = engine->stats();
  ASSERT_TRUE(after.parked);
  EXPECT_EQ(after.parked->entries, 1u);
  EXPECT_EQ(after.parked->on_disk_only, 0u);
  EXPECT_GE(after.parked->memory_bytes, after.total().parked_bytes);
  EXPECT_EQ(after.parked->memory_limit, EngineLoadOptions().park_bytes);
  EXPECT_EQ(after.parked->disk_bytes, 0u);
  EXPECT_EQ(after.parked->hits, 0u);
  generate(*engine, session, endless(5));
  EXPECT_EQ(engine->stats().parked->hits, 1u);
}

TEST(Numbers, WhereNothingIsParkedNothingIsSaidOfIt) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.park_bytes = 0;
  EXPECT_FALSE(load(options)->stats().parked);
  EXPECT_FALSE(load(load_options("tiny-embed"))->stats().parked);
}

TEST(Numbers, TablesNameEveryNumberOnce) {
  std::set<std::string> names, metrics;
  const auto insert = [&](const auto& field) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    if (field.metric == nullptr) return;
    EXPECT_TRUE(metrics.insert(field.metric).second) << field.metric;
    EXPECT_EQ(std::string_view(field.metric).ends_with("_total"), field.kind == StatKind::counter);
  };
  for (const auto& field : stat_fields()) insert(field);
  for (const auto& field : parked_fields()) insert(field);
  for (const auto& field : media_fields()) insert(field);
  for (const HistogramField& field : histogram_fields()) EXPECT_TRUE(metrics.insert(field.metric).second);
}

TEST(Numbers, TotalsAddCountersAndTakeTheLargestPeak) {
  Stats stats;
  stats.workers.resize(2);
  stats.workers[0].steps = 3;
  stats.workers[1].steps = 4;
  stats.workers[0].max_batch = 7;
  stats.workers[1].max_batch = 5;
  stats.workers[1].step_tokens.observe(2);
  const WorkerStats total = stats.total();
  EXPECT_EQ(total.steps, 7u);
  EXPECT_EQ(total.max_batch, 7u);
  EXPECT_EQ(total.step_tokens.count(), 1u);
}

}  // namespace
}  // namespace corral::engine::test
