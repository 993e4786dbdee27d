// Clients take turns for places: by hand, and in lives of many clients that are played from seeds.
#include "engine/schedule/turn_order.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

// A queue in that order, as a worker has it.
class Line {
 public:
  void ask(const std::string& client, bool background = false) {
    waiting_.emplace(turns_.enter(client, background), Asked{client, background, ++asked_});
  }
  // Who gets the next place.
  std::string serve() {
    if (waiting_.empty()) return "nobody";
    const auto first = waiting_.begin();
    const auto [order, asked] = *first;
    waiting_.erase(first);
    turns_.began(order, asked.client, asked.background);
    return asked.client;
  }
  std::string serve(int count) {
    std::string all;
    while (count-- > 0) all += serve();
    return all;
  }
  // The newest of a client's goes.
  void leave(const std::string& client, bool background = false) {
    for (auto at = waiting_.rbegin(); at != waiting_.rend(); ++at) {
      if (at->second.client != client || at->second.background != background) continue;
      const auto order = at->first;
      waiting_.erase(std::next(at).base());
      turns_.left(order, client, background);
      return;
    }
  }
  // That one goes.
  void leave_number(std::uint64_t number) {
    const auto at = std::ranges::find_if(waiting_, [&](const auto& one) { return one.second.number == number; });
    const auto [order, asked] = *at;
    waiting_.erase(at);
    turns_.left(order, asked.client, asked.background);
  }
  std::size_t waiting() const { return waiting_.size(); }
  std::size_t remembered() const { return turns_.clients(); }

  struct Asked {
    std::string client;
    bool background;
    std::uint64_t number;
  };
  const std::map<std::uint64_t, Asked>& queue() const { return waiting_; }

 private:
  TurnOrder turns_;
  std::map<std::uint64_t, Asked> waiting_;
  std::uint64_t asked_ = 0;
};

// Each one that went had given its client's next one a turn before those that waited.
TEST(TurnOrder, WhoComesAfterOthersHaveGonePassesNobody) {
  for (const bool background : {false, true}) {
    Line line;
    for (int i = 0; i < 4; ++i) line.ask("a", background);
    for (const std::uint64_t gone : {1, 2, 3}) line.leave_number(gone);
    line.ask("a", background);
    EXPECT_EQ(line.queue().begin()->second.number, 4u);
  }
}

TEST(TurnOrder, WhoHadManyThatWentWaitsForNoneOfThem) {
  Line line;
  for (std::uint64_t i = 1; i <= 100; ++i) line.ask("a");
  for (std::uint64_t i = 1; i <= 100; ++i) line.leave_number(i);
  for (int i = 0; i < 4; ++i) line.ask("b");
  line.ask("a");
  EXPECT_EQ(line.serve(2), "ba");
}

TEST(TurnOrder, OneClientIsServedInItsOrder) {
  TurnOrder turns;
  std::uint64_t last = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto order = turns.enter("a", false);
    EXPECT_GT(order, last);
    last = order;
    if (i % 3 == 0) turns.began(order, "a", false);
  }
}

TEST(TurnOrder, AThousandRequestsOfOneClientDelayAnothersByOne) {
  Line line;
  for (int i = 0; i < 1000; ++i) line.ask("a");
  EXPECT_EQ(line.serve(16), std::string(16, 'a'));
  line.ask("b");
  EXPECT_EQ(line.serve(2), "ab");
}

TEST(TurnOrder, ClientsThatAskForMuchShareEqually) {
  Line line;
  for (int i = 0; i < 100; ++i) {
    line.ask("a");
    line.ask("a");
    line.ask("b");
  }
  for (int i = 0; i < 40; ++i) line.ask("c");
  const auto served = line.serve(90);
  for (const char client : {'a', 'b', 'c'}) EXPECT_EQ(std::ranges::count(served, client), 30) << client;
}

// Somebody who comes under a new name each time had everybody's turn.
TEST(TurnOrder, NewNamesPassNobodyByForEver) {
  Line line;
  for (int i = 0; i < 3; ++i) line.ask("old");
  for (int i = 0; i < 50; ++i) line.ask("new" + std::to_string(i));
  int served = 0;
  for (int i = 50; i < 1000; ++i) {
    served += line.serve() == "old" ? 1 : 0;
    line.ask("new" + std::to_string(i));
  }
  EXPECT_EQ(served, 3);
  EXPECT_LE(line.remembered(), 110u);
}

TEST(TurnOrder, BackgroundIsBehindOthersAndNotForgotten) {
  Line line;
  for (int i = 0; i < 4; ++i) line.ask("b", true);
  EXPECT_EQ(line.serve(), "b") << "nobody else asks";
  for (int i = 0; i < 100; ++i) line.ask("a");
  const auto served = line.serve(27);
  const auto first = served.find('b');
  EXPECT_GE(first, 7u) << served;
  EXPECT_LE(first, 9u) << served;
  EXPECT_EQ(std::ranges::count(served, 'b'), 3) << served;
}

TEST(TurnOrder, WhatAClientHasInTheBackgroundDoesntDelayTheRest) {
  Line line;
  line.ask("x");
  EXPECT_EQ(line.serve(), "x");
  for (int i = 0; i < 20; ++i) line.ask("b", true);
  line.ask("b");
  EXPECT_EQ(line.serve(), "b");
  EXPECT_EQ(line.waiting(), 20u);
  EXPECT_TRUE(line.queue().begin()->second.background);
}

// An agent that stops what it had asked for waited as if it had been served.
TEST(TurnOrder, WhoLeavesWithoutAPlaceHadNoTurn) {
  Line line;
  for (int i = 0; i < 20; ++i) line.ask("a");
  for (int i = 0; i < 10; ++i) line.ask("b");
  for (int i = 0; i < 10; ++i) line.leave("b");
  line.ask("b");
  EXPECT_NE(line.serve(3).find('b'), std::string::npos);
}

// Lives of many clients: what each waits is bounded by who is there, and no client's are passed by its own later ones.
TEST(TurnOrder, EveryWaitIsBounded) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    const std::size_t clients = 1 + random() % 12;
    TurnOrder turns;
    struct Wait {
      std::size_t client = 0;
      bool background = false;
      std::uint64_t number = 0;
      std::size_t bound = 0;  // places given before it has one
      std::size_t waited = 0;
    };
    std::map<std::uint64_t, Wait> waiting;
    std::uint64_t number = 0;
    std::vector<std::uint64_t> last(2 * clients, 0);
    for (int step = 0; step < 20'000; ++step) {
      const auto client = chance(60) ? 0 : random() % clients;  // one asks most
      if (waiting.size() < 300 && chance(52)) {
        const bool background = client % 3 == 2;
        const auto name = "client" + std::to_string(client);
        const auto ahead = static_cast<std::size_t>(std::ranges::count_if(waiting, [&](const auto& one) {
          return one.second.client == client && one.second.background == background;
        }));
        const std::size_t turns_of_it = (ahead + 1) * (background ? 9 : 1) + 1;
        waiting.emplace(turns.enter(name, background),
                        Wait{client, background, ++number, turns_of_it * (2 * clients + 1), 0});
      } else if (!waiting.empty()) {
        const auto [order, served] = *waiting.begin();
        waiting.erase(waiting.begin());
        turns.began(order, "client" + std::to_string(served.client), served.background);
        auto& before = last[2 * served.client + (served.background ? 1 : 0)];
        EXPECT_GT(served.number, before) << "seed " << seed;
        before = served.number;
        EXPECT_LE(served.waited, served.bound) << "seed " << seed;
        for (auto& [other, wait] : waiting) ++wait.waited;
      }
      EXPECT_LE(turns.clients(), 2 * clients);
    }
  }
}

}  // namespace
}  // namespace corral::engine
