// The five priorities, their ties, and the degenerate cases of the design that they come from.
#include "mesh/allocation/allocation.h"

#include <gmock/gmock.h>

#include "mesh/allocation/allocation_fixture_for_tests.h"

namespace corral::mesh {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DegenerateCase : public AllocationFixture {};

TEST_F(DegenerateCase, OneModelOneNode) {
  model("a", 4);
  node(1, 16, {"a"});
  const auto first = decide();
  EXPECT_THAT(lines(first), ElementsAre("n1 a alone unserved"));
  settle(first);
  EXPECT_THAT(decided(), ElementsAre("n1 a alone keeps"));
}

TEST_F(DegenerateCase, OneModelOneNodeThatKeepsItsMemory) {
  model("a", 4);
  node(1, 16, {"a"}, Role::member);
  EXPECT_THAT(decided(), ElementsAre("- a not_asked"));
}

TEST_F(DegenerateCase, OneModelSeveralNodesThatItNeeds) {
  model("a", 30);
  node(1, 20, {"a"});
  node(2, 20);
  const auto allocation = decide();
  EXPECT_THAT(lines(allocation), ElementsAre("n1 a share completes", "n2 a share completes"));
  ASSERT_EQ(allocation.splits.size(), 1u);
  EXPECT_EQ(allocation.splits.front().plan.host, id(1));
  settle(allocation);
  EXPECT_THAT(decided(), ElementsAre("n1 a share keeps", "n2 a share keeps"));
}

// Measured: a split is slower than one node that can hold the model.
TEST_F(DegenerateCase, OneModelSeveralNodesOfWhichOneWouldDo) {
  model("a", 4);
  node(1, 16, {"a"});
  node(2, 16, {"a"});
  node(3, 16);
  EXPECT_THAT(decided(),
              testing::UnorderedElementsAre(testing::EndsWith("a alone unserved"),
                                            testing::EndsWith("a replica biggest"), "n3 a replica biggest copy"));
}

TEST_F(DegenerateCase, OneModelSeveralNodesByOrder) {
  model("a", 4);
  node(1, 16, {"a"});
  node(2, 16);
  of("a").split_over = {std::min(id(1), id(2)), std::max(id(1), id(2))};
  EXPECT_THAT(decided(), ElementsAre("n1 a share told", "n2 a share told"));
}

TEST_F(DegenerateCase, SeveralModelsThatAllFitOneNodeEach) {
  for (const auto* name : {"a", "b", "c"}) model(name, 4);
  for (unsigned number = 1; number <= 3; ++number) node(number, 16, {"a", "b", "c"});
  const auto allocation = decide();
  std::set<ContentKey> served;
  for (const auto& got : allocation.assignments) {
    EXPECT_EQ(got.part, Part::alone);
    served.insert(got.model);
  }
  EXPECT_EQ(served.size(), 3u);
  EXPECT_TRUE(allocation.splits.empty());
}

TEST_F(DegenerateCase, BigAndSmallModelsPackNaturally) {
  model("big", 30);
  model("small", 4);
  model("tiny", 2);
  for (unsigned number = 1; number <= 4; ++number) node(number, 20, {"big", "small", "tiny"});
  const auto allocation = decide();
  EXPECT_EQ(std::ranges::count(allocation.assignments, Part::share, &Assignment::part), 2);
  EXPECT_EQ(std::ranges::count(allocation.assignments, Part::alone, &Assignment::part), 2);
  EXPECT_TRUE(allocation.unserved.empty());
}

TEST_F(DegenerateCase, TheFirstNodeSeedsTwoModelsAndLoadsOne) {
  model("a", 10).wanted = true;
  model("b", 4).wanted = true;
  node(1, 16, {"a", "b"}, Role::member);
  EXPECT_THAT(decided(), ElementsAre("- b taken", "n1 a alone unserved"));
  settle(decide());
  // The other one waits for capacity, and gets what comes.
  node(2, 8);
  EXPECT_THAT(decided(), ElementsAre("n1 a alone keeps", "n2 b alone fetch copy"));
}

TEST_F(DegenerateCase, NobodyHasTheFileYet) {
  auto& model_a = model("a", 0);
  model_a.wanted = model_a.may_download = true;
  model_a.may_copy = false;
  node(1, 8);
  node(2, 16);
  // What it takes nobody knows: it goes to where there is most.
  EXPECT_THAT(decided(), ElementsAre("n2 a alone fetch download"));
}

TEST_F(DegenerateCase, NothingThatANodeCouldHold) {
  model("a", 30);
  node(1, 16, {"a"});
  const auto allocation = decide();
  EXPECT_THAT(lines(allocation), ElementsAre("- a no_memory", "n1 a standby biggest"));
  EXPECT_EQ(allocation.unserved.front().have, 16 * kGB);
  EXPECT_GT(allocation.unserved.front().need, 30 * kGB);
  EXPECT_THAT(allocation.unserved.front().why, HasSubstr("1 node lends 15 GiB: "));
}

TEST_F(DegenerateCase, NoNodesAndNoModels) {
  EXPECT_TRUE(decided().empty());
  model("a", 1);
  EXPECT_THAT(decided(), ElementsAre("- a no_memory"));
  situation.models.clear();
  node(1, 1);
  EXPECT_TRUE(decided().empty());
}

class PriorityTest : public AllocationFixture {};

TEST_F(PriorityTest, FirstWhatCannotRunWithoutTheNode) {
  model("big", 30);
  model("small", 4);
  node(1, 20, {"big", "small"});
  EXPECT_THAT(decided(), ElementsAre("- big no_memory", "n1 small alone unserved"));
  node(2, 20, {"small"});
  EXPECT_THAT(decided(), ElementsAre("- small taken", "n1 big share completes", "n2 big share completes"));
}

TEST_F(PriorityTest, OfSplitsTheOneOnDiskFirst) {
  model("a", 40);
  model("b", 30);
  node(1, 22);
  node(2, 22, {"b"});
  EXPECT_THAT(decided(), ElementsAre("- a no_memory", "n1 b share completes", "n2 b share completes"));
}

TEST_F(PriorityTest, ThenWhatNobodyServesOnDiskLargerAlphabetical) {
  model("c", 4);
  model("b", 4);
  model("a", 3);
  model("copied", 9);
  model("other", 9);
  node(1, 10, {"a", "b", "c"});
  node(2, 16, {"copied", "other"});
  EXPECT_THAT(decided(), ElementsAre("- a taken", "- c taken", "- other taken", "n1 b alone unserved",
                                     "n2 copied alone unserved"));
}

TEST_F(PriorityTest, ThenWhatIsAskedForTooMuch) {
  model("a", 4).per_hour = 100;
  model("b", 5);
  model("c", 6);
  node(1, 16, {"a"});
  node(2, 16, {"b"});
  hold(1, "a");
  hold(2, "b");
  node(3, 16, {"a", "b"});
  // Before what would have to be copied.
  EXPECT_THAT(decided(), ElementsAre("- c taken", "n1 a alone keeps", "n2 b alone keeps", "n3 a replica capacity"));
  of("a").per_hour = 50;
  EXPECT_THAT(decided(), testing::Contains("n3 c alone fetch copy"));
}

// It was given to it again and again, and nobody else got it.
TEST_F(PriorityTest, WhoHasAModelOfItsOwnersIsNoReplicaOfIt) {
  model("a", 4).per_hour = 100;
  for (const unsigned number : {1U, 2U}) node(number, 16, {"a"}, Role::member);
  hold(1, "a", 0, HeldModel::Use::hosted);
  EXPECT_THAT(decided(), ElementsAre("n2 a replica capacity"));
  hold(2, "a", 0, HeldModel::Use::hosted);
  of("a").per_hour = 1000;
  EXPECT_THAT(decided(), testing::IsEmpty());
}

TEST_F(PriorityTest, ThenTheSameWithACopy) {
  model("a", 4).per_hour = 100;
  model("b", 6).may_copy = false;
  node(1, 16, {"a"});
  hold(1, "a");
  node(2, 16);
  EXPECT_THAT(decided(), ElementsAre("- b no_file", "n1 a alone keeps", "n2 a replica fetch copy"));
  at(2).disk_free = kGB;
  EXPECT_THAT(decided(), ElementsAre("- b no_file", "n1 a alone keeps"));
}

TEST_F(PriorityTest, ThenTheBiggestModelsGroup) {
  model("a", 4);
  model("b", 6);
  model("c", 7);
  node(1, 16);
  node(2, 16);
  node(3, 16);
  hold(1, "a");
  hold(2, "b");
  hold(3, "c");
  node(4, 6, {"a", "b", "c"});
  EXPECT_THAT(decided(), testing::Contains("n4 b replica biggest"));
}

TEST_F(PriorityTest, SeveralJoinersAtOnceSpread) {
  for (const auto* name : {"a", "b", "c", "d"}) model(name, 4);
  for (unsigned number = 1; number <= 4; ++number) node(number, 8, {"a", "b", "c", "d"});
  const auto allocation = decide();
  std::set<ContentKey> served;
  for (const auto& got : allocation.assignments) served.insert(got.model);
  EXPECT_EQ(served.size(), 4u);
}

TEST_F(PriorityTest, RoomyNodesAreLeftForWhatOnlyTheyCanHold) {
  model("large", 20);
  model("small", 6);
  node(1, 24, {"small"});
  node(2, 8, {"small"});
  EXPECT_THAT(decided(), ElementsAre("n1 large alone fetch copy", "n2 small alone unserved"));
}

TEST_F(PriorityTest, WhatIsAskedForInVainComesBeforeWhatIsLarger) {
  model("asked", 4).per_hour = 1;
  model("larger", 9);
  node(1, 10, {"asked", "larger"});
  EXPECT_THAT(decided(), ElementsAre("- larger taken", "n1 asked alone unserved"));
}

// Else the split would be idle after a while, be given back for it, and be completed again before it.
TEST_F(PriorityTest, WhatIsAskedForInVainComesBeforeASplitThatNobodyAsksFor) {
  model("asked", 4).per_hour = 1;
  of("asked").may_copy = true;
  model("big", 30);
  node(1, 20, {"big"});
  node(2, 20);
  EXPECT_THAT(decided(), ElementsAre("- big no_memory", "n1 big standby biggest", "n2 asked alone fetch copy"));
}

// Who has the file has no memory for it: one of those that have gets the file, where that can be.
TEST_F(PriorityTest, AHostWithoutTheFileGetsItFirst) {
  model("big", 30);
  node(1, 20, {"big"}).order = NodeOrder{};
  node(2, 20);
  EXPECT_THAT(decided(), ElementsAre("- big no_memory", "n2 big standby biggest"));
  node(3, 20);
  const auto allocation = decide();
  ASSERT_EQ(allocation.splits.size(), 1u);
  EXPECT_FALSE(allocation.splits.front().plan.host_has_file);
  for (const auto& line : allocation.assignments)
    EXPECT_EQ(line.fetch, line.node == allocation.splits.front().plan.host ? Fetch::copy : Fetch::none) << line.why;
  at(2).takes_copies = at(3).takes_copies = false;
  EXPECT_THAT(lines(decide()), testing::Contains("- big no_file"));
}

// Where bytes are short, that is said, though nobody with the file is free either.
TEST_F(PriorityTest, WhatIsShortIsSaidThoughTheFileIsElsewhere) {
  model("big", 30).per_hour = 2;
  model("other", 30).per_hour = 4;
  node(1, 20, {"big", "other"}, Role::member);
  node(2, 20, {}, Role::member);
  node(3, 20, {}, Role::member).takes_copies = false;
  hold_shares(1, {2}, "other");
  const auto allocation = decide();
  ASSERT_EQ(allocation.unserved.size(), 1u);
  EXPECT_EQ(allocation.unserved.front().reason, UnservedReason::no_memory);
  EXPECT_THAT(allocation.unserved.front().why, HasSubstr("1 node lends 19 GiB: "));
}

class RolesTest : public AllocationFixture {};

TEST_F(RolesTest, MembersLendToWhatIsAskedForOrWished) {
  model("a", 4);
  model("b", 5);
  node(1, 16, {"a", "b"}, Role::member);
  EXPECT_THAT(decided(), ElementsAre("- a not_asked", "- b not_asked"));
  of("a").per_hour = 1;
  EXPECT_THAT(decided(), ElementsAre("- b not_asked", "n1 a alone unserved"));
}

TEST_F(RolesTest, WhatAMemberServesItselfIsServed) {
  model("a", 4);
  node(1, 16, {"a"}, Role::member);
  hold(1, "a", 0, HeldModel::Use::hosted);
  node(2, 16, {"a"});
  EXPECT_THAT(decided(), ElementsAre("n2 a replica biggest"));
}

TEST_F(RolesTest, ClientsGiveNothing) {
  model("a", 4).per_hour = 10;
  node(1, 16, {"a"}, Role::client);
  EXPECT_THAT(decided(), ElementsAre("- a no_memory"));
}

TEST_F(RolesTest, TheOwnerTakesItsMemoryBack) {
  model("a", 4).per_hour = 10;
  node(1, 16, {"a"}, Role::member).recalled = true;
  hold(1, "a");
  EXPECT_THAT(decided(), ElementsAre("- a taken", "n1 a goes: recalled"));
  node(2, 16, {"a"});
  EXPECT_THAT(decided(), ElementsAre("n1 a goes: recalled", "n2 a alone unserved"));
}

TEST_F(RolesTest, AWorkerThatItsOwnClientsUseIsNotDisturbed) {
  model("a", 4);
  model("b", 4);
  node(1, 16, {"a", "b"});
  hold(1, "b", 0, HeldModel::Use::hosted);
  EXPECT_THAT(decided(), ElementsAre("- a taken"));
}

class AllocationStandingTest : public AllocationFixture {};

TEST_F(AllocationStandingTest, AWorkingGroupIsNotDisturbedByAJoin) {
  model("big", 30);
  node(1, 20, {"big"});
  node(2, 20);
  hold_shares(1, {2}, "big");
  for (const auto gb : {8, 20, 40, 100}) {
    node(3, static_cast<std::uint64_t>(gb), {"big"});
    const auto found = decided();
    EXPECT_THAT(found, testing::Contains("n1 big share keeps"));
    EXPECT_THAT(found, testing::Contains("n2 big share keeps"));
    EXPECT_THAT(found, testing::Contains(gb < 40 ? "n3 big standby biggest" : "n3 big replica biggest"));
    situation.nodes.pop_back();
  }
}

TEST_F(AllocationStandingTest, ABlipChangesNothing) {
  model("big", 30);
  node(1, 20, {"big"});
  node(2, 20);
  node(3, 20, {"big"});
  hold_shares(1, {2}, "big");
  at(2).just_gone = true;
  EXPECT_THAT(decided(), ElementsAre("n1 big share keeps", "n2 big share keeps", "n3 big standby biggest"));
}

TEST_F(AllocationStandingTest, AShareWithoutItsHostIsPlannedAnew) {
  model("big", 30);
  node(2, 20, {"big"});
  node(3, 20);
  hold(2, "big", 0, HeldModel::Use::share).host = id(1);
  EXPECT_THAT(decided(), ElementsAre("n2 big share completes waits", "n3 big share completes waits"));
}

TEST_F(AllocationStandingTest, WhatIsIdleForLongIsGivenBackAndRests) {
  model("a", 4);
  node(1, 16, {"a"});
  hold(1, "a", 30 * 60 - 1);
  EXPECT_THAT(decided(), ElementsAre("n1 a alone keeps"));
  at(1).holds.front().idle_ms = 30 * 60'000;
  EXPECT_THAT(decided(), ElementsAre("- a resting", "n1 a goes: idle"));
  at(1).holds.clear();
  of("a").resting = true;
  EXPECT_THAT(decided(), ElementsAre("- a resting"));
}

TEST_F(AllocationStandingTest, ASplitIsGivenBackByAllItsNodes) {
  model("big", 30);
  node(1, 20, {"big"});
  node(2, 20);
  hold_shares(1, {2}, "big", 1800);
  EXPECT_THAT(decided(), ElementsAre("- big resting", "n1 big goes: idle", "n2 big goes: idle"));
}

TEST_F(AllocationStandingTest, MemoryGoesToWhatIsAskedForMore) {
  model("a", 4).per_hour = 1;
  model("b", 4).per_hour = 3;
  node(1, 6, {"a", "b"});
  hold(1, "a", 59);
  EXPECT_THAT(decided(), ElementsAre("- b taken", "n1 a alone keeps"));
  at(1).holds.front().idle_ms = 60'000;
  const auto allocation = decide();
  EXPECT_THAT(lines(allocation), ElementsAre("- a taken", "n1 a goes: wanted_elsewhere", "n1 b alone unserved waits"));
  EXPECT_EQ(allocation.unloads.front().for_model, key("b"));
  EXPECT_THAT(allocation.unloads.front().why, HasSubstr("n1 unloads a: b needs the memory"));
  // While it is given back nothing else is told, and then it goes to the one that it was taken for.
  at(1).holds.front().draining = true;
  EXPECT_THAT(decided(), ElementsAre("- a taken", "n1 b alone unserved waits"));
  at(1).holds.clear();
  model("larger", 6);
  at(1).on_disk.push_back(key("larger"));
  EXPECT_THAT(decided(), testing::Contains("n1 b alone unserved"));
}

TEST_F(AllocationStandingTest, NotToWhatIsAskedForAboutAsMuch) {
  model("a", 4).per_hour = 2;
  model("b", 4).per_hour = 3;
  node(1, 6, {"a", "b"});
  hold(1, "a", 600);
  EXPECT_THAT(decided(), ElementsAre("- b taken", "n1 a alone keeps"));
}

TEST_F(AllocationStandingTest, OfSeveralTheOneThatIsMissedLeastGoes) {
  model("a", 4).per_hour = 1;
  model("b", 4).per_hour = 0.5;
  model("c", 4).per_hour = 9;
  for (unsigned number = 1; number <= 3; ++number) node(number, 6, {"a", "b", "c"});
  hold(1, "a", 600);
  hold(2, "b", 600);
  hold(3, "a", 600);
  // Of a there are two.
  const auto found = decided();
  EXPECT_EQ(std::ranges::count_if(found, [](const auto& line) { return line.contains(" a goes: wanted_elsewhere"); }),
            1);
  EXPECT_THAT(found, testing::Contains("n2 b alone keeps"));
}

TEST_F(AllocationStandingTest, ASplitThatIsAskedForGetsWhatOthersLeaveIdle) {
  model("big", 30).per_hour = 4;
  model("a", 4);
  model("b", 4).per_hour = 1;
  node(1, 20, {"big", "a"});
  node(2, 20, {"b"});
  hold(1, "a", 100);
  hold(2, "b", 100);
  const auto allocation = decide();
  EXPECT_THAT(lines(allocation),
              ElementsAre("- a taken", "- b taken", "n1 a goes: wanted_elsewhere", "n1 big share completes waits",
                          "n2 b goes: wanted_elsewhere", "n2 big share completes waits"));
  EXPECT_TRUE(allocation.splits.front().waits);
  // One has done so: it isn't given to anybody else meanwhile.
  at(1).holds.clear();
  at(2).holds.front().draining = true;
  EXPECT_THAT(decided(),
              ElementsAre("- a taken", "- b taken", "n1 big share completes waits", "n2 big share completes waits"));
}

TEST_F(AllocationStandingTest, TwoModelsThatNeedTwoNodesEachOnThreeNodes) {
  model("a", 30).per_hour = 3;
  model("b", 30).per_hour = 2;
  for (unsigned number = 1; number <= 3; ++number) node(number, 20, {"a", "b"}, Role::member);
  const auto first = decide();
  EXPECT_EQ(std::ranges::count(first.assignments, key("a"), &Assignment::model), 2);
  ASSERT_EQ(first.unserved.size(), 1u);
  EXPECT_EQ(first.unserved.front().model, key("b"));
  EXPECT_EQ(first.unserved.front().reason, UnservedReason::no_memory);
  EXPECT_EQ(first.unserved.front().have, 20 * kGB);
  EXPECT_GT(first.unserved.front().need, 30 * kGB);
  settle(first);
  EXPECT_TRUE(decide().splits.empty());
  // Memory comes free: the other one starts.
  for (auto& node : situation.nodes) node.holds.clear();
  of("a").unload_ordered = true;
  const auto second = decide();
  ASSERT_EQ(second.splits.size(), 1u);
  EXPECT_EQ(second.splits.front().model, key("b"));
}

TEST_F(AllocationStandingTest, NobodyWhoWorksGoes) {
  model("big", 30).per_hour = 400;
  model("a", 4);
  node(1, 20, {"big", "a"});
  node(2, 20);
  hold(1, "a");
  EXPECT_THAT(decided(), testing::Contains("n1 a alone keeps"));
}

}  // namespace
}  // namespace corral::mesh
