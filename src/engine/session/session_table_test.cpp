// Rule: wherever a session stands, exactly the list of that state has it.
#include "engine/session/session_table.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

class FiveSessions : public ::testing::Test {
 protected:
  FiveSessions() {
    for (std::uint64_t id = 1; id <= 5; ++id) {
      Session& session = sessions_.add(std::make_shared<SessionShared>(SessionId(id), 100), true);
      session.generation.emplace().order = id;
    }
  }
  Session& at(std::uint64_t id) { return *sessions_.find(SessionId(id)); }
  static std::vector<std::uint64_t> ids(std::span<Session* const> list) {
    std::vector<std::uint64_t> ids;
    for (const Session* session : list) ids.push_back(session->id());
    return ids;
  }
  void expect_agreement() {
    std::uint32_t generating = 0;
    for (const Session& session : sessions_.all()) {
      const auto stands_in = [&](std::span<Session* const> list) { return std::ranges::count(list, &session); };
      EXPECT_EQ(stands_in(sessions_.active()), session.phase() == Phase::active ? 1 : 0);
      EXPECT_EQ(stands_in(sessions_.waiting()), session.phase() == Phase::waiting ? 1 : 0);
      EXPECT_EQ(stands_in(sessions_.paused()), session.phase() == Phase::paused ? 1 : 0);
      EXPECT_EQ(sessions_.aside() == &session, session.phase() == Phase::aside);
      generating += session.phase() != Phase::idle ? 1 : 0;
    }
    EXPECT_EQ(sessions_.generating(), generating);
    EXPECT_TRUE(
        std::ranges::is_sorted(sessions_.waiting(), {}, [](const Session* one) { return one->generation->order; }));
  }

  SessionTable sessions_;
};

using Ids = std::vector<std::uint64_t>;

TEST_F(FiveSessions, WhoComesBackHasTheTurnThatItHad) {
  for (const std::uint64_t id : {4, 2, 5, 1}) sessions_.wait(at(id));
  EXPECT_EQ(ids(sessions_.waiting()), (Ids{1, 2, 4, 5}));
  sessions_.activate(at(4));
  sessions_.activate(at(1));
  EXPECT_EQ(ids(sessions_.active()), (Ids{4, 1})) << "as they came";
  sessions_.wait(at(4));
  EXPECT_EQ(ids(sessions_.waiting()), (Ids{2, 4, 5}));
  EXPECT_EQ(sessions_.place_in_queue(at(2)), 1u);
  EXPECT_EQ(sessions_.place_in_queue(at(5)), 3u);
}

TEST_F(FiveSessions, ClientsTakeTurns) {
  for (const std::uint64_t id : {1, 2, 3, 4}) {
    at(id).generation->client = "many";
    sessions_.line_up(*at(id).generation);
    sessions_.wait(at(id));
  }
  sessions_.activate(at(1));
  at(5).generation->client = "one";
  sessions_.line_up(*at(5).generation);
  sessions_.wait(at(5));
  EXPECT_EQ(ids(sessions_.waiting()), (Ids{2, 5, 3, 4}));
  // Who goes without ever having run had no turn.
  sessions_.rest(at(4));
  sessions_.rest(at(3));
  sessions_.line_up(*at(3).generation);
  sessions_.wait(at(3));
  EXPECT_EQ(ids(sessions_.waiting()), (Ids{2, 5, 3}));
}

TEST_F(FiveSessions, FromEachStateToEachOther) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    Session& session = at(random() % 5 + 1);
    switch (random() % 5) {
      case 0:
        sessions_.wait(session);
        break;
      case 1:
        sessions_.activate(session);
        break;
      case 2:
        sessions_.pause(session);
        break;
      case 3:
        if (sessions_.aside() == nullptr) sessions_.set_aside(session);
        break;
      default:
        sessions_.rest(session);
    }
    expect_agreement();
  }
}

TEST_F(FiveSessions, WhoLosesAPlaceFeedsWhoStarves) {
  const auto starved_after = [&](auto change) {
    sessions_.block_others(at(1));
    change();
    return sessions_.blocks(at(1));
  };
  sessions_.wait(at(1));
  EXPECT_TRUE(starved_after([&] { sessions_.wait(at(2)); }));
  EXPECT_TRUE(starved_after([&] { sessions_.activate(at(2)); }));
  EXPECT_TRUE(starved_after([&] { sessions_.set_aside(at(2)); })) << "it counts for all that it will have";
  EXPECT_FALSE(starved_after([&] { sessions_.wait(at(2)); }));
  sessions_.activate(at(2));
  EXPECT_FALSE(starved_after([&] { sessions_.pause(at(2)); }));
  EXPECT_TRUE(starved_after([&] { sessions_.wait(at(2)); })) << "it had lost its place before";
  EXPECT_FALSE(starved_after([&] { sessions_.rest(at(2)); }));
}

TEST_F(FiveSessions, CountsTheStreamsAmongThoseThatRun) {
  for (const std::uint64_t id : {1, 2, 3}) {
    at(id).history.assign(3, 7);
    sessions_.activate(at(id));
  }
  at(1).in_cache = at(2).in_cache = 2;
  at(1).generation->usage.completion_tokens = 1;  // the second one has said nothing, the third one has three to compute
  EXPECT_EQ(sessions_.decoding(), 1u);
}

TEST_F(FiveSessions, ASessionIsUsedInItsPass) {
  sessions_.next_pass();
  sessions_.next_pass();
  sessions_.use(at(3));
  EXPECT_EQ(at(3).last_used, 2u);
  EXPECT_EQ(at(4).last_used, 0u);
}

TEST_F(FiveSessions, WhoHasGoneIsNotFound) {
  sessions_.remove(at(2));
  EXPECT_EQ(sessions_.find(SessionId(2)), nullptr);
  EXPECT_EQ(sessions_.size(), 4u);
}

}  // namespace
}  // namespace corral::engine
