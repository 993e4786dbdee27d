// The simulation's own checks notice what an unfair scheduler would do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/engine/pass_rules.h"
#include "simulation/engine/waits.h"

namespace corral::engine::simulation {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

PassView::Row stream(std::uint64_t session, std::uint32_t tokens = 1) {
  return {.session = SessionId(session), .state = {.pending = 1, .decoding = true, .order = session}, .tokens = tokens};
}
PassView::Row prompt(std::uint64_t session, std::uint32_t pending, std::uint32_t tokens) {
  return {.session = SessionId(session), .state = {.pending = pending, .order = session}, .tokens = tokens};
}

// Of a pass for 40 tokens, 20 of prompts beside running streams.
std::optional<std::string> rule(std::vector<PassView::Row> rows, bool alone = false, std::uint32_t padding = 0,
                                std::uint32_t outputs = 0) {
  const PassView pass{.sessions = std::move(rows),
                      .limits = {.tokens = 40, .outputs = 4, .prefill = 20},
                      .padding = padding,
                      .alone = alone};
  Batch batch(40);
  const std::uint32_t size = sum_of(pass).tokens + padding;
  for (std::uint32_t i = 0; i < size; ++i) batch.add(1, i, 0, i < outputs);
  return broken_rule(pass, batch);
}

TEST(PassRules, AFairPassBreaksNone) {
  EXPECT_EQ(rule({stream(1), prompt(2, 100, 10), prompt(3, 10, 10)}), std::nullopt);
  EXPECT_EQ(rule({prompt(2, 100, 35), prompt(3, 5, 5)}), std::nullopt);
  EXPECT_EQ(rule({stream(1, 0), stream(2)}), std::nullopt) << "streams may take turns";
  EXPECT_EQ(rule({stream(1, 0), prompt(2, 100, 40)}, true), std::nullopt);
  EXPECT_EQ(rule({stream(1), stream(2), stream(3)}, false, 1), std::nullopt) << "whole tiles";
}

TEST(PassRules, TellWhatIsUnfair) {
  EXPECT_THAT(rule({stream(1, 0), stream(2), prompt(3, 100, 20)}), Optional(HasSubstr("stand still")));
  EXPECT_THAT(rule({stream(1), prompt(2, 100, 21)}), Optional(HasSubstr("where 20 may be")));
  EXPECT_THAT(rule({stream(1), prompt(2, 100, 19)}), Optional(HasSubstr("and 100 wait")));
  EXPECT_THAT(rule({stream(1), prompt(2, 100, 9), prompt(3, 11, 11)}), Optional(HasSubstr("the oldest prompt")));
  EXPECT_THAT(rule({prompt(2, 41, 41)}), Optional(HasSubstr("a pass of")));
  EXPECT_THAT(rule({stream(1), stream(2), prompt(3, 20, 20)}, false, 1), Optional(HasSubstr("nobody wants")));
  EXPECT_THAT(rule({stream(1), prompt(2, 10, 10)}, true), Optional(HasSubstr("who is to blame")));
  EXPECT_EQ(rule({stream(1), prompt(2, 30, 20)}, false, 0, 1), std::nullopt);
  EXPECT_THAT(rule({stream(1), prompt(2, 30, 20)}, false, 0, 2), Optional(HasSubstr("2 rows of logits")));
}

// A worker with two places, played round by round.
class WaitsTest : public ::testing::Test {
 protected:
  SessionView& add(std::uint64_t session, std::uint32_t tokens, std::uint32_t max) {
    SessionView& view = views_.emplace_back();
    view.id = SessionId(session);
    view.state = SessionState::waiting;
    view.tokens = tokens;
    waits_.started(view.id, max);
    return view;
  }
  SessionView& view(std::uint64_t session) { return *std::ranges::find(views_, SessionId(session), &SessionView::id); }

  // A pass with these, after which each session is as `then` makes it.
  template <typename Then>
  std::optional<std::string> round(std::vector<PassView::Row> rows, Then then, DecodeStatus status = DecodeStatus::ok) {
    waits_.before({.sessions = views_});
    waits_.pass({.sessions = std::move(rows), .limits = {.tokens = 40, .outputs = 2, .prefill = 20}}, status, 0);
    then();
    return waits_.after({.sessions = views_}, true);
  }
  // So many tokens of its prompt are there; with the last one it has said something.
  void computed(std::uint64_t session, std::uint32_t tokens) {
    SessionView& one = view(session);
    one.state = SessionState::prefill;
    one.cached_tokens += tokens;
    if (one.cached_tokens >= one.tokens) note_generated(session);
  }
  void note_generated(std::uint64_t session) {
    SessionView& one = view(session);
    one.state = SessionState::decoding;
    ++one.generated;
    one.cached_tokens = one.tokens++;
  }
  void ended(std::uint64_t session) { view(session).state = SessionState::idle; }

  Waits waits_{
      {.places = 2, .sequences = 2, .cells = 1000, .lane_tokens = std::nullopt, .shares_beginning = [](SessionId) {
         return false;
       }}};
  std::vector<SessionView> views_;
};

TEST_F(WaitsTest, ALongPromptBesideShortOnesThatKeepComing) {
  for (const bool fair : {true, false}) {
    views_.clear();
    add(1000, 200, 1);
    std::optional<std::string> broken;
    std::uint32_t passes = 0;
    for (std::uint64_t next = fair ? 1 : 100; !broken && view(1000).generated == 0; ++next) {
      add(next, 20, 1);
      const std::uint32_t half = fair ? 20 : 0;
      broken = round({prompt(1000, 200 - view(1000).cached_tokens, half), prompt(next, 20, 20)}, [&] {
        computed(1000, half);
        computed(next, 20);
        ended(next);
      });
      ++passes;
    }
    if (fair) EXPECT_EQ(broken, std::nullopt);
    if (!fair) EXPECT_THAT(broken, Optional(HasSubstr("session 1000 waits: half of the room")));
    EXPECT_LT(passes, 20u);
  }
}

TEST_F(WaitsTest, ARunningStreamThatNobodyComputes) {
  add(1, 10, 50);
  add(2, 10, 5);
  ASSERT_EQ(round({prompt(1, 10, 10), prompt(2, 10, 10)},
                  [&] {
                    computed(1, 10);
                    computed(2, 10);
                  }),
            std::nullopt);
  ASSERT_EQ(round({stream(1, 0), stream(2)}, [&] { note_generated(2); }), std::nullopt);
  EXPECT_THAT(round({stream(1, 0), stream(2)}, [&] { note_generated(2); }),
              Optional(HasSubstr("session 2 goes twice")));
}

TEST_F(WaitsTest, WhoComesLaterGetsAPlaceFirst) {
  add(1, 10, 5);
  add(2, 10, 5);
  add(3, 10, 5);
  EXPECT_THAT(round({prompt(1, 10, 10), prompt(3, 10, 10)},
                    [&] {
                      computed(1, 10);
                      computed(3, 10);
                    }),
              Optional(HasSubstr("session 2 is passed over for session 3")));
}

// Once nobody was looked at while any background task waited, though only the session whose file it reads waits for it.
TEST_F(WaitsTest, WhoReadsAFileIsPassedOverAndNobodyElse) {
  add(1, 10, 5).reading = true;
  add(2, 10, 5);
  ASSERT_EQ(round({prompt(2, 10, 10)}, [&] { computed(2, 10); }), std::nullopt);
  add(3, 10, 5);
  add(4, 10, 5);
  EXPECT_THAT(round({stream(2), prompt(4, 10, 10)},
                    [&] {
                      note_generated(2);
                      computed(4, 10);
                    }),
              Optional(HasSubstr("session 3 is passed over for session 4")));
}

TEST_F(WaitsTest, NobodyRunsThoughOneWaitsForNothing) {
  add(1, 10, 5).reading = true;
  const auto idle = [&](bool explaining) {
    waits_.before({.sessions = views_, .explaining = explaining});
    return waits_.after({.sessions = views_, .explaining = explaining}, false);
  };
  EXPECT_EQ(idle(false), std::nullopt);
  add(2, 10, 5);
  EXPECT_EQ(idle(true), std::nullopt);
  EXPECT_THAT(idle(false), Optional(HasSubstr("session 2 waits, and nobody runs")));
}

TEST_F(WaitsTest, APlaceStaysEmpty) {
  add(1, 10, 5);
  add(2, 10, 5);
  EXPECT_THAT(round({prompt(1, 10, 10)}, [&] { computed(1, 10); }), Optional(HasSubstr("1 of 2 places")));
}

// A pass with both, then one with the other alone: the cells of the first went to it.
TEST_F(WaitsTest, TheOldestLosesItsPlace) {
  add(1, 10, 50);
  add(2, 10, 50);
  ASSERT_EQ(round({prompt(1, 10, 10), prompt(2, 10, 10)},
                  [&] {
                    computed(1, 10);
                    computed(2, 10);
                  }),
            std::nullopt);
  EXPECT_THAT(round({stream(2)},
                    [&] {
                      view(1).state = SessionState::waiting;
                      note_generated(2);
                    }),
              Optional(HasSubstr("session 1 loses its place")));
}

TEST_F(WaitsTest, WhoGetsAPlaceLosesItAtOnce) {
  for (const int tokens : {15, 16}) {
    views_.clear();
    const std::uint64_t old = tokens * 10, late = old + 1;
    add(old, 10, 50);
    add(late, 10, 50);
    ASSERT_EQ(round({prompt(old, 10, 10), prompt(late, 10, 10)},
                    [&] {
                      computed(old, 10);
                      computed(late, 10);
                    }),
              std::nullopt);
    for (int i = 1; i < tokens; ++i) {
      ASSERT_EQ(round({stream(old), stream(late)},
                      [&] {
                        note_generated(old);
                        note_generated(late);
                      }),
                std::nullopt);
    }
    const auto broken = round({stream(old)}, [&] {
      view(late).state = SessionState::waiting;
      note_generated(old);
    });
    if (tokens == 16) EXPECT_EQ(broken, std::nullopt);
    if (tokens == 15) EXPECT_THAT(broken, Optional(HasSubstr("nobody has said 16 tokens")));
    round({}, [&] {
      ended(old);
      ended(late);
    });
  }
}

TEST_F(WaitsTest, PassesThatGetNowhere) {
  add(1, 10, 5);
  add(2, 10, 5);
  const auto nothing = [&] { view(1).state = view(2).state = SessionState::prefill; };
  std::optional<std::string> broken;
  for (int i = 0; i < 10 && !broken; ++i)
    broken = round({prompt(1, 10, 10), prompt(2, 10, 10)}, nothing, DecodeStatus::failed);
  EXPECT_THAT(broken, Optional(HasSubstr("got nowhere")));
}

TEST_F(WaitsTest, PromptsAreHeldBackAllTheTime) {
  add(1, 10, 500);
  ASSERT_EQ(round({prompt(1, 10, 10)}, [&] { computed(1, 10); }), std::nullopt);
  add(2, 10, 5);
  view(2).state = SessionState::prefill;
  std::optional<std::string> broken;
  for (int i = 0; i < 10 && !broken; ++i) {
    waits_.before({.sessions = views_});
    waits_.pass({.sessions = {stream(1), prompt(2, 10, 0)}, .limits = {.tokens = 40, .outputs = 2, .prefill = 0}},
                DecodeStatus::ok, 0);
    note_generated(1);
    broken = waits_.after({.sessions = views_}, true);
  }
  EXPECT_THAT(broken, Optional(HasSubstr("held back")));
}

}  // namespace
}  // namespace corral::engine::simulation
