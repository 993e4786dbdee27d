// Servers that stop in the middle of everything, and disks that are full or hang: nothing is left, nothing waits.
#include "fleet/groups/group_fixture_for_tests.h"

namespace corral::fleet {
namespace {

class GroupEndTest : public GroupTest {};

TEST_F(GroupEndTest, AHostThatStopsGivesAllBack) {
  auto &a = add(), &b = add();
  a.want({&b});
  stop(a);
  EXPECT_EQ(a.leftovers() + b.leftovers(), "");
}

TEST_F(GroupEndTest, AHostThatStopsLetsRequestsEndForAsLongAsItMay) {
  auto &a = add(), &b = add();
  a.want({&b});
  a.processes.requests = 1;
  a.runner->wind_down(5000ms);
  EXPECT_FALSE(a.want({&b})) << "nothing new begins";
  pass(4000ms);
  EXPECT_FALSE(a.processes.engines.empty());
  stop(a);
  EXPECT_EQ(a.leftovers() + b.leftovers(), "");
}

// Its requests were told that the host needs the memory.
TEST_F(GroupEndTest, RequestsOfAnEngineThatLosesANodeLearnWhichOne) {
  auto &a = add(), &b = add();
  a.want({&b});
  a.processes.requests = 1;
  kill(b);
  EXPECT_EQ(a.processes.stopped_for, "the connection to n2, which computes a part of the model, is lost");
}

TEST_F(GroupEndTest, RequestsOfAHostThatStopsLearnThat) {
  auto &a = add(), &b = add();
  a.want({&b});
  a.processes.requests = 1;
  stop(a, 1000ms);
  EXPECT_EQ(a.processes.stopped_for, "its node is stopping");
}

TEST_F(GroupEndTest, AHostThatStopsWhileItClaims) {
  auto &a = add(), &b = add();
  deliver = false;
  a.want({&b});
  EXPECT_EQ(a.state(), "claiming");
  stop(a);
  deliver = true;
  settle();
  EXPECT_EQ(a.leftovers() + b.leftovers(), "");
}

TEST_F(GroupEndTest, AHostThatStopsWhileTunnelsOpen) {
  auto &a = add(), &b = add();
  b.processes.works = false;
  a.want({&b});
  EXPECT_EQ(a.processes.starts, 0);
  stop(a);
  EXPECT_EQ(a.leftovers() + b.leftovers(), "");
}

TEST_F(GroupEndTest, AHostThatStopsWhileItLoads) {
  auto &a = add(), &b = add();
  a.processes.loads = false;
  a.want({&b});
  EXPECT_EQ(a.processes.engines.size(), 1u);
  stop(a);
  EXPECT_EQ(a.leftovers() + b.leftovers(), "");
}

TEST_F(GroupEndTest, AHostThatStopsWhileItDrains) {
  auto &a = add(), &b = add();
  a.want({&b});
  a.processes.requests = 1;
  a.want({&b}, 12);
  EXPECT_EQ(a.state(), "draining");
  stop(a, 1000ms);
  EXPECT_EQ(a.leftovers() + b.leftovers(), "");
}

TEST_F(GroupEndTest, AHostThatStopsWhileItWaits) {
  auto &a = add(), &b = add();
  cut(a, b);
  a.want({&b});
  EXPECT_EQ(a.state(), "waiting");
  stop(a);
  EXPECT_EQ(a.leftovers(), "");
}

TEST_F(GroupEndTest, AWorkersNodeThatStopsTellsTheHost) {
  auto &a = add(), &b = add();
  a.want({&b});
  a.processes.requests = 1;
  b.runner->wind_down(20'000ms);
  settle();
  EXPECT_EQ(a.state(), "draining");
  EXPECT_TRUE(b.processes.worker);
  a.processes.requests = 0;
  a.processes.look_at_drains();
  settle();
  EXPECT_FALSE(b.processes.worker);
  pass(3000ms);
  EXPECT_FALSE(b.processes.worker) << "nobody gets it any more";
  stop(b);
}

TEST_F(GroupEndTest, AWorkersNodeThatStopsAtOnce) {
  auto &a = add(), &b = add();
  a.want({&b});
  a.processes.requests = 1;
  stop(b);
  EXPECT_EQ(b.leftovers(), "");
  EXPECT_TRUE(a.processes.engines.empty()) << "its tunnel is gone";
}

// ---- the disk

TEST_F(GroupEndTest, AFullDiskGivesNobodyTheMemory) {
  auto &a = add(), &b = add();
  b.full = true;
  a.want({&b});
  EXPECT_FALSE(a.stands());
  EXPECT_FALSE(b.processes.worker);
  EXPECT_EQ(b.processes.opens, 0);
  EXPECT_THAT(b.runner->problem(), HasSubstr("no space left"));
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("n2 lends less")) << "at once, not after a silence";
  EXPECT_TRUE(b.want({&a})) << "what it hosts itself goes on";
  EXPECT_TRUE(b.stands());
  b.runner->end(b.plan({}).model);
  a.runner->end(a.plan({}).model);
  settle();
  b.full = false;
  pass(11'000ms);
  EXPECT_EQ(b.runner->problem(), "");
  a.want({&b});
  pass(5000ms);
  EXPECT_TRUE(a.stands());
}

TEST_F(GroupEndTest, ADiskThatHangsHoldsUpNobodyElse) {
  auto &a = add(), &b = add(), &c = add();
  b.hangs = true;
  a.want({&b});
  EXPECT_EQ(a.state(), "claiming");
  EXPECT_EQ(b.processes.opens, 0) << "nobody knows yet who has it";
  pass(4000ms);
  EXPECT_THAT(b.runner->problem(), HasSubstr("the disk does not respond"));
  EXPECT_EQ(a.state(), "waiting");
  a.runner->end(a.plan({}).model);
  // It is told no at once from now on.
  c.want({&b});
  EXPECT_THAT(c.hosted()->refusal, HasSubstr("n2"));
  c.runner->end(c.plan({}).model);
  pass(10'000ms);
  b.hangs = false;
  b.hang.set_value();
  settle();
  EXPECT_EQ(b.runner->problem(), "");
  EXPECT_EQ(b.processes.opens, 0) << "its time was over";
  a.want({&b});
  pass(10'000ms);
  EXPECT_TRUE(a.stands());
}

TEST_F(GroupEndTest, ADiskThatHangsIsntWaitedForAtTheEnd) {
  auto &a = add(), &b = add();
  b.hangs = true;
  a.want({&b});
  stop(b);
  EXPECT_EQ(b.leftovers(), "");
}

TEST_F(GroupEndTest, AFloodOfAsksFillsNothingWhileTheDiskHangs) {
  auto &a = add(), &b = add();
  b.hangs = true;
  a.want({&b});
  const auto grants = letters.size();
  mesh::GrantRequest ask{.model = a.plan({}).model, .of = {1, 1}, .plan = {}, .bytes = 12};
  ask.plan = digest_of(a.plan({&b}));
  for (ask.stamp = 1000; ask.stamp < 11'000; ++ask.stamp)
    b.peers.listener->frame(a.id, mesh::to_frame(mesh::GroupMessage(ask)));
  EXPECT_EQ(letters.size(), grants) << "none is answered before the disk is";
  deliver = false;
  b.hangs = false;
  b.hang.set_value();
  settle();
  EXPECT_EQ(letters.size(), grants + 1) << "and then the last one";
  deliver = true;
}

TEST_F(GroupEndTest, ALifeLaterTheHostOfBeforeGoesFirst) {
  auto &a = add(), &b = add(), &c = add();
  a.want({&b});
  ASSERT_EQ(b.noted(), mesh::to_text(a.id));
  cut(a, b);  // a hears nothing of what follows
  kill(b);
  b.boot.epoch = 2;
  b.start();
  heal(b, c);
  c.want({&b});
  EXPECT_FALSE(c.stands());
  EXPECT_THAT(c.hosted()->refusal, HasSubstr("n2 has just started"));
  pass(30'000ms);
  EXPECT_TRUE(c.stands());
}

TEST_F(GroupEndTest, AHostOfALifeBeforeIsForgottenInTime) {
  auto &a = add(), &b = add();
  a.want({&b});
  cut(a, b);
  kill(b);
  b.boot.epoch = 2;
  b.start();
  pass(9000ms);
  EXPECT_EQ(b.noted(), mesh::to_text(a.id));
  pass(2000ms);
  EXPECT_EQ(b.noted(), "nobody") << "the next start needn't wait for it again";
}

TEST_F(GroupEndTest, ADamagedFileMakesAllOthersWait) {
  auto &a = add(), &b = add();
  kill(b);
  std::ofstream(b.folder.path() / kHolderFile) << "nonsense\n";
  b.boot.epoch = 2;
  b.start();
  heal(a, b);
  a.want({&b});
  EXPECT_THAT(a.hosted()->refusal, HasSubstr("has just started"));
  pass(30'000ms);
  EXPECT_TRUE(a.stands());
}

TEST_F(GroupEndTest, WhatANodeGaveItselfIsNothingToWaitFor) {
  auto &a = add(), &b = add();
  a.want({&b});
  kill(a);
  a.boot.epoch = 2;
  a.start();
  heal(a, b);
  b.want({&a});
  EXPECT_TRUE(b.stands());
}

}  // namespace
}  // namespace corral::fleet
