// Rule: wherever a session stands, exactly the list of that state has it.
#include "engine/worker/roster.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

class RosterOfFive : public ::testing::Test {
 protected:
  RosterOfFive() {
    for (std::uint64_t id = 1; id <= 5; ++id) {
      Session& session = roster_.add(std::make_shared<SessionShared>(SessionId(id), 100), true);
      session.generation.emplace().order = id;
    }
  }
  Session& at(std::uint64_t id) { return *roster_.find(SessionId(id)); }
  static std::vector<std::uint64_t> ids(std::span<Session* const> list) {
    std::vector<std::uint64_t> ids;
    for (const Session* session : list) ids.push_back(session->id());
    return ids;
  }
  void expect_agreement() {
    std::uint32_t generating = 0;
    for (const Session& session : roster_.all()) {
      const auto stands_in = [&](std::span<Session* const> list) { return std::ranges::count(list, &session); };
      EXPECT_EQ(stands_in(roster_.active()), session.phase() == Phase::active ? 1 : 0);
      EXPECT_EQ(stands_in(roster_.waiting()), session.phase() == Phase::waiting ? 1 : 0);
      EXPECT_EQ(stands_in(roster_.paused()), session.phase() == Phase::paused ? 1 : 0);
      EXPECT_EQ(roster_.aside() == &session, session.phase() == Phase::aside);
      generating += session.phase() != Phase::idle ? 1 : 0;
    }
    EXPECT_EQ(roster_.generating(), generating);
    EXPECT_TRUE(
        std::ranges::is_sorted(roster_.waiting(), {}, [](const Session* one) { return one->generation->order; }));
  }

  Roster roster_;
};

using Ids = std::vector<std::uint64_t>;

TEST_F(RosterOfFive, WhoComesBackHasTheTurnThatItHad) {
  for (const std::uint64_t id : {4, 2, 5, 1}) roster_.wait(at(id));
  EXPECT_EQ(ids(roster_.waiting()), (Ids{1, 2, 4, 5}));
  roster_.activate(at(4));
  roster_.activate(at(1));
  EXPECT_EQ(ids(roster_.active()), (Ids{4, 1})) << "as they came";
  roster_.wait(at(4));
  EXPECT_EQ(ids(roster_.waiting()), (Ids{2, 4, 5}));
  EXPECT_EQ(roster_.place_in_queue(at(2)), 1u);
  EXPECT_EQ(roster_.place_in_queue(at(5)), 3u);
}

TEST_F(RosterOfFive, ClientsTakeTurns) {
  for (const std::uint64_t id : {1, 2, 3, 4}) {
    at(id).generation->client = "many";
    roster_.line_up(*at(id).generation);
    roster_.wait(at(id));
  }
  roster_.activate(at(1));
  at(5).generation->client = "one";
  roster_.line_up(*at(5).generation);
  roster_.wait(at(5));
  EXPECT_EQ(ids(roster_.waiting()), (Ids{2, 5, 3, 4}));
  // Who goes without ever having run had no turn.
  roster_.rest(at(4));
  roster_.rest(at(3));
  roster_.line_up(*at(3).generation);
  roster_.wait(at(3));
  EXPECT_EQ(ids(roster_.waiting()), (Ids{2, 5, 3}));
}

TEST_F(RosterOfFive, FromEachStateToEachOther) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    Session& session = at(random() % 5 + 1);
    switch (random() % 5) {
      case 0:
        roster_.wait(session);
        break;
      case 1:
        roster_.activate(session);
        break;
      case 2:
        roster_.pause(session);
        break;
      case 3:
        if (roster_.aside() == nullptr) roster_.set_aside(session);
        break;
      default:
        roster_.rest(session);
    }
    expect_agreement();
  }
}

TEST_F(RosterOfFive, WhoLosesAPlaceFeedsWhoStarves) {
  const auto starved_after = [&](auto change) {
    roster_.starve(at(1));
    change();
    return roster_.starves(at(1));
  };
  roster_.wait(at(1));
  EXPECT_TRUE(starved_after([&] { roster_.wait(at(2)); }));
  EXPECT_TRUE(starved_after([&] { roster_.activate(at(2)); }));
  EXPECT_TRUE(starved_after([&] { roster_.set_aside(at(2)); })) << "it counts for all that it will have";
  EXPECT_FALSE(starved_after([&] { roster_.wait(at(2)); }));
  roster_.activate(at(2));
  EXPECT_FALSE(starved_after([&] { roster_.pause(at(2)); }));
  EXPECT_TRUE(starved_after([&] { roster_.wait(at(2)); })) << "it had lost its place before";
  EXPECT_FALSE(starved_after([&] { roster_.rest(at(2)); }));
}

TEST_F(RosterOfFive, CountsTheStreamsAmongThoseThatRun) {
  for (const std::uint64_t id : {1, 2, 3}) {
    at(id).history.assign(3, 7);
    roster_.activate(at(id));
  }
  at(1).in_cache = at(2).in_cache = 2;
  at(1).generation->usage.completion_tokens = 1;  // the second one has said nothing, the third one has three to compute
  EXPECT_EQ(roster_.decoding(), 1u);
}

TEST_F(RosterOfFive, ASessionIsUsedInItsPass) {
  roster_.next_pass();
  roster_.next_pass();
  roster_.use(at(3));
  EXPECT_EQ(at(3).last_used, 2u);
  EXPECT_EQ(at(4).last_used, 0u);
}

TEST_F(RosterOfFive, WhoHasGoneIsNotFound) {
  roster_.remove(at(2));
  EXPECT_EQ(roster_.find(SessionId(2)), nullptr);
  EXPECT_EQ(roster_.size(), 4u);
}

}  // namespace
}  // namespace corral::engine
