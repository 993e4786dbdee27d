// What readers of events are told, in which order, and what becomes of slow ones.
#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

using testing::StartsWith;

// An event in a few words: "a loading>ready", "load a started".
struct InWords {
  std::string operator()(const InstanceChanged& moved) const {
    auto text = moved.spec->name.value() + " " + residency::name_of(moved.from) + ">" + residency::name_of(moved.to);
    if (moved.requests > 0) text += " " + std::to_string(moved.requests);
    if (moved.reason != residency::StopReason::none) text += std::string(" for ") + residency::name_of(moved.reason);
    return moved.cause.empty() ? text : text + ": " + moved.cause;
  }
  std::string operator()(const LoadChanged& moved) const {
    auto text = "load " + moved.spec->name.value() + " " + name_of(moved.stage);
    if (moved.stage == LoadStage::progress) text += " " + std::to_string(static_cast<int>(moved.progress * 100));
    if (moved.attempt > 1) text += " attempt " + std::to_string(moved.attempt);
    if (moved.reason != residency::StopReason::none) text += std::string(" for ") + residency::name_of(moved.reason);
    return moved.error ? text + ": " + moved.error->message : text;
  }
  std::string operator()(const QueueChanged& moved) const {
    std::string text = "queue";
    for (const auto& queued : moved.queue) {
      text += " " + queued.model.value() + "x" + std::to_string(queued.waiters);
      for (const auto& other : queued.waiting_for) text += "<" + other.value();
    }
    return text;
  }
  std::string operator()(const PinUpdated& moved) const {
    return (moved.pinned ? "pin " : "unpin ") + moved.model.value();
  }
  std::string operator()(const SettingsChanged&) const { return "settings"; }
  std::string operator()(const RouterClosed&) const { return "closes"; }
  std::string operator()(const NoticePtr& notice) const {
    std::string text;
    json::Writer out(text);
    out.begin_object();
    notice->write(out);
    out.end_object();
    return std::string(notice->name()) + " " + text;
  }
};

// Downloads, as far as readers of events are concerned.
class Downloads final : public EventSource {
 public:
  struct Progress final : Notice {
    explicit Progress(int percents) : percent(percents) {}
    std::string_view name() const override { return "download"; }
    void write(json::Writer& out) const override { out.field("percent", percent); }
    int percent;
  };
  NoticePtr state() const override { return std::make_shared<Progress>(percent); }
  void move(ModelRouter& router, int to) {
    percent = to;
    router.notify(state());
  }
  int percent = 0;
};

class EventsTest : public RouterTest {
 protected:
  // The next update, if there is one at once.
  Update next(EventReader& reader) {
    auto pending = run(reader.next(Millis(0)));
    EXPECT_TRUE(pending.done());
    return std::move(pending.get());
  }
  std::vector<std::string> words(EventReader& reader) {
    std::vector<std::string> all;
    for (const auto& event : next(reader).events) all.push_back(std::visit(InWords{}, event->change));
    return all;
  }
  // A reader that has its snapshot.
  std::unique_ptr<EventReader> reader() {
    auto made = std::make_unique<EventReader>(*router);
    EXPECT_TRUE(next(*made).whole);
    return made;
  }
};

TEST_F(EventsTest, FirstComesTheWhole) {
  have("a");
  EventReader fresh(*router);
  const auto first = next(fresh);
  ASSERT_TRUE(first.whole);
  EXPECT_EQ(first.whole->instances.at(0).view.spec->name, ModelName("a"));
  EXPECT_THAT(first.events, IsEmpty());
  EXPECT_FALSE(first.ended);
  const auto second = next(fresh);
  EXPECT_FALSE(second.whole);
  EXPECT_THAT(second.events, IsEmpty());
}

TEST_F(EventsTest, LifeOfAModel) {
  const auto events = reader();
  auto a = acquire("a");
  EXPECT_THAT(words(*events), ElementsAre("queue ax1", "a queued>loading", "load a started", "queue"));
  server("a").progress(0.4);
  pass(200ms);
  EXPECT_THAT(words(*events), ElementsAre("load a progress 40"));
  server("a").finish_load();
  settle();
  EXPECT_THAT(words(*events), ElementsAre("load a finished", "a loading>in_use 1"));
  drop(a.take());
  pass(200ms);
  EXPECT_THAT(words(*events), ElementsAre("a in_use>ready"));
  unload("a");
  EXPECT_THAT(words(*events), ElementsAre("a ready>evicting for unload", "a evicting>gone for unload"));
}

TEST_F(EventsTest, NumbersOfEventsAscendByOneAndGoOnFromTheWhole) {
  const auto first = reader();
  have("a");
  auto number = std::uint64_t{0};
  for (const auto& event : next(*first).events) {
    EXPECT_EQ(event->number, number + 1);
    number = event->number;
  }
  EventReader second(*router);
  EXPECT_EQ(next(second).number, number);
  unload("a");
  EXPECT_EQ(next(second).events.at(0)->number, number + 1);
}

TEST_F(EventsTest, EvictionSaysForWhatAndTheQueueSaysForWhom) {
  auto lease = have_lease("a");
  const auto events = reader();
  auto b = acquire("b");
  EXPECT_THAT(words(*events), ElementsAre("queue bx1", "queue bx1<a")) << "while its files are looked at, and then";
  drop(std::move(lease));
  EXPECT_THAT(words(*events), ElementsAre("a in_use>evicting for room", "a evicting>gone for room", "b queued>loading",
                                          "load b started", "queue"));
  server("b").finish_load();
  settle();
}

TEST_F(EventsTest, ManyRequestsForOneLoadAreToldTogether) {
  auto lease = have_lease("a");
  const auto events = reader();
  std::vector<Pending<Result<Lease>>> waiting;
  for (int i = 0; i < 50; ++i) waiting.push_back(acquire("b"));
  EXPECT_THAT(words(*events), ElementsAre("queue bx1", "queue bx1<a"));
  pass(200ms);
  EXPECT_THAT(words(*events), ElementsAre("queue bx50<a"));
  waiting.clear();
  settle();
  EXPECT_THAT(words(*events), ElementsAre("queue"));
}

TEST_F(EventsTest, RequestsOfABusyModelAreToldAFewTimesASecond) {
  have("a");
  const auto events = reader();
  for (int i = 0; i < 100; ++i) drop(run(router->acquire(model("a"))).take());
  auto lease = acquire("a").take();
  pass(200ms);
  EXPECT_THAT(words(*events), SizeIs(testing::Le(2u)));
  pass(400ms);
  EXPECT_THAT(words(*events), IsEmpty());
}

TEST_F(EventsTest, FailedLoadSaysWhyAndIsTriedAgain) {
  const auto events = reader();
  auto a = acquire("a");
  words(*events);
  server("a").fail_load({make_error_code(backends::errc::load_failed), "broken"});
  settle();
  EXPECT_THAT(words(*events), ElementsAre("load a failed: broken", "a loading>failed: broken", "a queued>loading",
                                          "load a started attempt 2"));
  server("a").fail_load({make_error_code(backends::errc::load_failed), "still broken"});
  settle();
  EXPECT_TRUE(a.refused());
  EXPECT_THAT(words(*events), ElementsAre("load a failed attempt 2: still broken", "a loading>failed: still broken"));
}

TEST_F(EventsTest, LoadThatNobodyWantsIsAborted) {
  const auto events = reader();
  auto a = acquire("a");
  words(*events);
  a.cancel();
  settle();
  EXPECT_THAT(words(*events), ElementsAre("a loading>evicting for cancelled", "load a aborted for cancelled",
                                          "a evicting>gone for cancelled"));
}

TEST_F(EventsTest, CrashSaysHowItEnded) {
  have("a");
  const auto events = reader();
  server("a").die("killed by signal 9 (SIGKILL)");
  settle();
  EXPECT_THAT(words(*events), ElementsAre("a ready>failed: killed by signal 9 (SIGKILL)"));
}

TEST_F(EventsTest, PinsAreTold) {
  have("a");
  const auto events = reader();
  run(router->pin(ModelName("a"), true));
  run(router->pin(ModelName("a"), true));
  EXPECT_THAT(words(*events), ElementsAre("pin a"));
  run(router->pin(ModelName("a"), false));
  EXPECT_THAT(words(*events), ElementsAre("unpin a"));
}

TEST_F(EventsTest, ReaderWaitsUntilSomethingHappensOrItsPatienceEnds) {
  const auto events = reader();
  auto waiting = run(events->next(Millis(1000)));
  EXPECT_FALSE(waiting.done());
  pass(1000ms);
  ASSERT_TRUE(waiting.done());
  EXPECT_THAT(waiting.get().events, IsEmpty());
  auto again = run(events->next(Millis(1000)));
  have("a");
  ASSERT_TRUE(again.done());
  EXPECT_THAT(again.get().events, testing::Not(IsEmpty()));
}

TEST_F(EventsTest, SlowReaderGetsTheWholeInsteadOfWhatItMissed) {
  const auto slow = reader();
  const auto quick = reader();
  for (int i = 0; i < 400; ++i) {
    have("a");
    unload("a");
    EXPECT_THAT(words(*quick), testing::Contains("load a started"));
  }
  const auto update = next(*slow);
  EXPECT_TRUE(update.whole);
  EXPECT_THAT(update.events, IsEmpty());
  have("a");
  EXPECT_THAT(words(*slow), testing::Contains("load a started"));
}

TEST_F(EventsTest, NothingIsKeptWithoutReaders) {
  reader().reset();
  have("a");
  unload("a");
  const auto later = reader();
  have("b");
  EXPECT_EQ(next(*later).events.at(0)->number, 1u);
}

TEST_F(EventsTest, StopIsTheLastEvent) {
  have("a");
  const auto events = reader();
  auto waiting = run(events->next(Millis(60'000)));
  run(router->end_events());
  ASSERT_TRUE(waiting.done());
  EXPECT_TRUE(waiting.get().ended);
  EXPECT_EQ(std::visit(InWords{}, waiting.get().events.back()->change), "closes");
  EventReader late(*router);
  EXPECT_TRUE(next(late).whole);
  EXPECT_TRUE(next(late).ended);
}

TEST_F(EventsTest, ReaderThatLeavesWhileItWaitsLeavesNothing) {
  {
    const auto events = reader();
    auto waiting = run(events->next(Millis(60'000)));
    waiting.cancel();
    settle();
    EXPECT_FALSE(waiting.running());
  }
  EXPECT_EQ(timers.sleepers(), 0u);
}

// ---- other sources

TEST_F(EventsTest, OthersTellThroughTheSameHubInOneOrder) {
  Downloads downloads;
  auto attached = router->attach(downloads);
  downloads.move(*router, 10);  // nobody listens
  EventReader reader(*router);
  auto first = next(reader);
  ASSERT_TRUE(first.whole);
  ASSERT_THAT(first.others, SizeIs(1));
  EXPECT_EQ(InWords{}(first.others.front()), R"(download {"percent":10})");

  downloads.move(*router, 20);
  const auto loading = load("a");
  downloads.move(*router, 30);
  const auto update = next(reader);
  std::vector<std::string> all;
  for (const auto& event : update.events) all.push_back(std::visit(InWords{}, event->change));
  ASSERT_GE(all.size(), 3u);
  EXPECT_EQ(all.front(), R"(download {"percent":20})");
  EXPECT_EQ(all.back(), R"(download {"percent":30})");
  EXPECT_EQ(update.events.back()->number - update.events.front()->number + 1, update.events.size());
  server("a").finish_load();
  settle();

  attached.reset();
  EventReader later(*router);
  EXPECT_THAT(next(later).others, IsEmpty());
}

TEST_F(EventsTest, ASlowReaderStartsAgainFromAllSources) {
  Downloads downloads;
  const auto attached = router->attach(downloads);
  auto slow = reader();
  for (int i = 0; i < 5000; ++i) downloads.move(*router, i);
  auto pending = run(slow->next(Millis(0)));
  ASSERT_TRUE(pending.done());
  ASSERT_TRUE(pending.get().whole) << "the list is bounded, whoever tells";
  ASSERT_THAT(pending.get().others, SizeIs(1));
  EXPECT_EQ(InWords{}(pending.get().others.front()), R"(download {"percent":4999})");
}

}  // namespace
}  // namespace corral::router
