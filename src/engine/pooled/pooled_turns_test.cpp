#include "engine/pooled/pooled_turns.h"

#include <map>

#include <gmock/gmock.h>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

using ::testing::ElementsAre;

class PooledTurnsTest : public ::testing::Test {
 protected:
  std::shared_ptr<PooledState> add(std::string client, std::size_t inputs = 1) {
    auto job = std::make_shared<PooledState>(
        PooledState::Job{.inputs = std::vector(inputs, std::vector<Token>{1}), .client = std::move(client)},
        PooledState::Place{});
    turns_.add(job);
    return job;
  }
  // Clients of a pass that takes one input of each of the first so many.
  std::string pass(std::size_t max) {
    std::string clients;
    for (PooledTurns::Request* request : turns_.first(max)) {
      clients += request->job->job().client;
      ++request->next;
      request->had_turn = true;
    }
    turns_.go_round();
    return clients;
  }

  PooledTurns turns_;
};

TEST_F(PooledTurnsTest, ClientsTakeThemWhateverTheNumberOfTheirRequests) {
  for (int i = 0; i < 500; ++i) add("a", 20);
  add("b", 2);
  EXPECT_EQ(pass(1), "a");
  EXPECT_EQ(pass(1), "b");
  add("c");
  EXPECT_EQ(pass(1), "a");
  EXPECT_EQ(pass(1), "b");
  EXPECT_EQ(pass(1), "c");
  EXPECT_EQ(pass(1), "a");
  EXPECT_EQ(pass(1), "a") << "nobody else is there";
}

TEST_F(PooledTurnsTest, EachClientComesOnceBeforeAnyComesTwice) {
  for (const char* client : {"a", "a", "a", "b", "c", "c"}) add(client, 9);
  EXPECT_EQ(pass(6), "abcaca");
  EXPECT_EQ(pass(4), "abca");
  EXPECT_EQ(pass(2), "ab") << "who had a turn stands behind, in the order there was";
}

TEST_F(PooledTurnsTest, WhoGotNothingKeepsItsPlace) {
  for (const char* client : {"a", "b", "c"}) add(client, 9);
  const auto first = turns_.first(3);
  first[0]->had_turn = first[2]->had_turn = true;
  turns_.go_round();
  EXPECT_EQ(pass(3), "bac");
}

// It went behind the others with each of its small ones, and never came to the front, where alone there is room for it.
TEST_F(PooledTurnsTest, ALargeRequestBehindSmallOnesOfItsOwnClientComesToTheFront) {
  constexpr PooledLimits kLimits;  // 63 tokens in a pass that is shared
  const auto ask = [&](std::string client, std::vector<std::vector<Token>> inputs) {
    auto job = std::make_shared<PooledState>(PooledState::Job{.inputs = std::move(inputs), .client = std::move(client)},
                                             PooledState::Place{});
    turns_.add(job);
    return job;
  };
  const std::vector<Token> small(10, 1);
  ask("a", std::vector(1000, small));
  ask("b", {small});
  const auto large = ask("b", {std::vector<Token>(200, 1)});
  for (int pass = 0; pass < 10; ++pass) {
    ask("b", {small});
    const std::vector<PooledTurns::Request*> requests = turns_.first(kLimits.inputs);
    std::vector<PooledView> views;
    for (const PooledTurns::Request* request : requests) views.push_back(request->left());
    const std::vector<std::uint32_t> taken = plan_pooled_pass(views, kLimits);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (taken[i] > 0 && requests[i]->job == large) return;
      requests[i]->next += taken[i];
      requests[i]->had_turn = taken[i] > 0;
    }
    turns_.go_round();
  }
  FAIL() << "it never had a turn";
}

TEST_F(PooledTurnsTest, TheRequestsOfAClientTakeThemToo) {
  const auto large = add("a", 3), small = add("a", 1);
  const auto next = [&] {
    PooledTurns::Request* const request = turns_.first(1).front();
    const auto job = request->job;
    ++request->next;
    request->had_turn = true;
    turns_.go_round();
    return job;
  };
  EXPECT_EQ(next(), large);
  EXPECT_EQ(next(), small);
  EXPECT_EQ(next(), large);
  EXPECT_EQ(next(), large);
  EXPECT_TRUE(turns_.empty());
}

TEST_F(PooledTurnsTest, WhoeverLeavesIsForgotten) {
  const auto gone = add("a", 3);
  const auto failed = add("b", 3);
  add("c");
  gone->abandon();
  failed->set_failed(Error(errc::decode_failed, "no"));
  turns_.forget_over();
  EXPECT_EQ(pass(9), "c");
  EXPECT_TRUE(turns_.empty());
}

TEST_F(PooledTurnsTest, AllFailAtOnce) {
  const std::vector jobs = {add("a"), add("a"), add("b")};
  turns_.fail_all(Error(errc::worker_shutdown, "over"));
  EXPECT_TRUE(turns_.empty());
  for (const auto& job : jobs) EXPECT_EQ(job->get().error().code, errc::worker_shutdown);
}

}  // namespace
}  // namespace corral::engine
