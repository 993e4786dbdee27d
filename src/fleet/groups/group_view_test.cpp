#include "fleet/groups/group_view.h"

#include <gmock/gmock.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::fleet {
namespace {

using State = SplitStatus::State;

class AllotmentStatusTest : public mesh::CatalogFixture {
 protected:
  std::vector<SplitStatus> statuses() {
    const auto known = catalog();
    Allotment allotment;
    allotment.situation = make_situation(*known, MonoTime());
    allotment.allocation = allocate(allotment.situation);
    return split_status_of(allotment);
  }
  Node& worker(unsigned number, std::uint64_t gb) {
    auto& node = add(number, number == 1 ? mesh::Reach::own : mesh::Reach::linked, gb);
    node.node_state.role = mesh::Role::worker;
    node.node_state.works = true;
    for (const auto& [other, there] : nodes)
      if (other != number) node.node_state.links.push_back({id(other), 200, 0});
    return node;
  }
};

TEST_F(AllotmentStatusTest, ASplitIsComing) {
  disk(worker(1, 20), "big", "x", 30);
  worker(2, 20);
  const auto all = statuses();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].state, State::coming);
}

// Nothing was known of one that another node hosts, so its requests were refused at the moment of a loss.
TEST_F(AllotmentStatusTest, AGroupOfAnotherHostIsKnown) {
  auto& host = worker(2, 20);
  disk(host, "big", "x", 30);
  worker(1, 20);
  mesh::GroupReport group;
  group.model = {sha256({std::string_view("x")}), false};
  group.stage = mesh::GroupStage::standing;
  group.running = true;
  group.shares = {{id(1), 10, 15'000'000'000}, {id(2), 10, 15'000'000'000}};
  host.node_state.groups = {group};
  nodes[1].node_state.shares = {{id(2), group.model, 15'000'000'000, false}};
  for (const bool waits : {false, true}) {
    if (waits) host.node_state.groups.front().stage = mesh::GroupStage::waiting;
    const auto all = statuses();
    ASSERT_EQ(all.size(), 1u) << waits;
    EXPECT_EQ(all[0].state, State::coming) << waits;
    EXPECT_EQ(all[0].host, id(2)) << waits;
  }
}

TEST_F(AllotmentStatusTest, WhatIsShortIsToldOfWhatNeedsSeveralOnly) {
  disk(worker(1, 20), "big", "x", 60);
  disk(nodes[1], "small", "y", 4);
  worker(2, 20);
  const auto all = statuses();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].state, State::unavailable);
  EXPECT_GT(all[0].need, all[0].have);
  EXPECT_FALSE(all[0].why.empty());
}

// There was no news of it, so its node answered that it is too large.
TEST_F(AllotmentStatusTest, AModelWhoseOnlyHostHasJustLostItIsLacking) {
  auto& host = worker(1, 20);
  disk(host, "big", "x", 30).may_copy = false;
  worker(2, 20);
  worker(3, 20);
  host.node_state.declined.push_back({sha256({std::string_view("x")}), false});
  const auto all = statuses();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].state, State::unavailable);
  EXPECT_EQ(all[0].why, "big: no node that could host it has the file or can get it");
}

TEST_F(AllotmentStatusTest, MembersWaitForARequest) {
  disk(worker(1, 20), "big", "x", 30);
  worker(2, 20);
  for (const unsigned number : {1U, 2U}) nodes[number].node_state.role = mesh::Role::member;
  const auto all = statuses();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].state, State::coming);
}

}  // namespace
}  // namespace corral::fleet
