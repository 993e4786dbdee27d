// What is wired together in a member: orders of copies by people and by the allocation, orders for its memory, splits.
#include "fleet/node/member_runtime.h"

#include <future>

#include <gmock/gmock.h>

#include "base/state_file.h"
#include "fleet/allotment/no_actions_for_tests.h"
#include "fleet/base/errors.h"
#include "fleet/node/member_runtime_fixture_for_tests.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {
namespace {

using testing::HasSubstr;

class CopiesOfMembers : public PresenceFixture {
 protected:
  ~CopiesOfMembers() override { end(); }

  NoActions actions_;
};

TEST_F(CopiesOfMembers, AModelThatIsOrderedComesUnderItsName) {
  come_together(2);
  auto &a = member('a'), &b = member('b');
  const auto content = have(a, "m", "abc");
  EXPECT_FALSE(copy_to(b, content));
  ASSERT_TRUE(wait(b.runtime->copy("m")));
  ASSERT_TRUE(until([&] { return copy_to(b, content)->state == CopyState::done; })) << copy_to(b, content)->problem;
  EXPECT_FALSE(copy_to(b, content)->by_allocation);
  // And, in a moment, under no other.
  const auto files = [&] {
    std::vector<std::string> found;
    std::error_code gone;
    // A folder may go while it is read.
    std::filesystem::recursive_directory_iterator entry(copies_of(b), gone), last;
    for (; !gone && entry != last; entry.increment(gone))
      if (std::error_code none; entry->is_regular_file(none)) found.push_back(entry->path().filename());
    return found;
  };
  EXPECT_TRUE(until([&] { return files() == std::vector<std::string>{"m.gguf"}; }));
}

TEST_F(CopiesOfMembers, TheAllocationCopiesToAWorkerWhatItIsToServe) {
  come_together(2, [this](unsigned number, NodeOptions& options) {
    if (number == 0) return;
    auto& member = *members_[number];
    member.allotment = {.actions = &actions_, .disk = &member.disk};
    options.role = mesh::Role::worker;
    options.lend_memory = 0.5;
  });
  auto &a = member('a'), &b = member('b');
  const auto large = have(a, "large", "abc", 9ull << 30);  // of 16 GiB half is lent
  const auto small = have(a, "small", "abcd", 7ull << 30);
  ASSERT_TRUE(until([&] { return copy_to(b, small) && copy_to(b, small)->state == CopyState::done; }));
  EXPECT_TRUE(copy_to(b, small)->by_allocation);
  EXPECT_FALSE(copy_to(b, large));
}

TEST_F(CopiesOfMembers, WhereNobodyCanLookAtFilesTheAllocationFindsNoPlace) {
  come_together(2, [](unsigned, NodeOptions& options) { options.auto_copy = true; });
  auto &a = member('a'), &b = member('b');
  const auto content = have(a, "m", "abc");
  const auto takes = [&] {
    const auto catalog = a.runtime->gossip().catalog();
    return catalog->node(b.id())->node_state->takes_copies;
  };
  EXPECT_TRUE(takes());
  looks_at_nothing(b);
  ASSERT_TRUE(wait(b.runtime->copy("m")));
  ASSERT_TRUE(until([&] { return copy_to(b, content)->state == CopyState::failed; }));
  EXPECT_THAT(copy_to(b, content)->problem, HasSubstr("seccomp"));
  EXPECT_TRUE(until([&] { return !takes(); }));
  looks(b, "", 0);
  ASSERT_TRUE(wait(b.runtime->copy("m")));
  EXPECT_TRUE(until([&] { return copy_to(b, content)->state == CopyState::done; }));
  EXPECT_TRUE(until(takes));
}

class OrdersOfMembers : public PresenceFixture {
 protected:
  struct NoActions final : AllotActions {
    void load(ModelName, std::function<void(Result<>)>) override {}
    void unload(ModelName, Millis, bool, std::function<void(bool)>) override {}
  };
  ~OrdersOfMembers() override {
    let_go();
    end();
  }
  // A member whose disk gives no answer until let_go().
  Member& come_alone() {
    come_together(1, [this](unsigned number, NodeOptions&) {
      auto& member = *members_[number];
      member.allotment = {.actions = &actions_, .disk = &member.disk};
    });
    auto& a = member('a');
    a.disk.post([waits = hung_.get_future()] { waits.wait(); });
    return a;
  }
  void let_go() {
    if (std::exchange(hangs_, false)) hung_.set_value();
  }
  static std::vector<mesh::ContentKey> unloads(Member& member) {
    return member.runtime->gossip().catalog()->node(member.id())->node_state->unloads;
  }

  NoActions actions_;
  std::promise<void> hung_;
  bool hangs_ = true;
};

TEST_F(OrdersOfMembers, WhatTheOwnerUnloadsIsToldAtOnceAndKeptWhenTheDiskCan) {
  auto& a = come_alone();
  std::vector<mesh::ContentKey> contents;
  std::vector<ModelName> names;
  for (const auto* name : {"one", "two", "three"}) {
    contents.push_back({have(a, name, name), false});
    names.emplace_back(name);
  }
  std::ranges::sort(contents);
  ASSERT_TRUE(wait(a.runtime->unloaded_here(names)));
  EXPECT_TRUE(until([&] { return unloads(a) == contents; }));
  const auto file = a.options.folder / kOrdersFile;
  EXPECT_FALSE(std::filesystem::exists(file)) << "the mesh waits for no disk";
  let_go();
  async::run_blocking(loop_, a.runtime->stop());
  a.runtime.reset();
  AllotMarks kept;
  kept.read(**read_state_file(file), timers_.now());
  mesh::NodeState state;
  kept.add_to(state);
  EXPECT_EQ(state.unloads, contents);
}

// With the name that it was given, the command of the refusal was ambiguous, and an owner's unload didn't last.
TEST_F(OrdersOfMembers, AnAssignedModelIsNotUnloadedByItsOwnerEither) {
  come_together(2, [this](unsigned number, NodeOptions& options) {
    auto& member = *members_[number];
    member.allotment = {.actions = &actions_, .disk = &member.disk};
    options.name = "vm";
  });
  auto& a = member('a');
  have(a, "m", "weights");
  EXPECT_TRUE(wait(a.runtime->may_unload(ModelName("m"))));
  ASSERT_TRUE(wait(a.runtime->assign(mesh::to_text(a.id()), AllotCommand::assign, "m")));
  const auto shown = a.runtime->gossip().catalog()->names().shown(a.id());
  EXPECT_NE(shown, "vm");
  const auto refused = wait(a.runtime->may_unload(ModelName("m")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::assigned);
  EXPECT_EQ(refused.error().message,
            shown + ": it is assigned to m and keeps it: free it first with `corral mesh assign " + shown + " auto`");
  const auto everywhere = wait(a.runtime->unload("m"));
  ASSERT_TRUE(everywhere && !everywhere->refused.empty());
  EXPECT_EQ(everywhere->refused.front().message, refused.error().message);
  ASSERT_TRUE(wait(a.runtime->assign(mesh::to_text(a.id()), AllotCommand::release, "")));
  EXPECT_TRUE(wait(a.runtime->may_unload(ModelName("m"))));
}

// The task of such an order outlived the group of tasks that it belonged to.
TEST_F(OrdersOfMembers, ANodeThatHasStoppedGivesNoMoreOrders) {
  come_together(2, [this](unsigned number, NodeOptions&) {
    auto& member = *members_[number];
    member.allotment = {.actions = &actions_, .disk = &member.disk};
  });
  auto &a = member('a'), &b = member('b');
  const mesh::ContentKey model{have(a, "m", "weights"), false};
  EXPECT_TRUE(wait(a.runtime->end_split({a.id(), model, {}})));
  wait(a.runtime->stop());
  for (const auto& host : {a.id(), b.id()}) {
    const auto refused = wait(a.runtime->end_split({host, model, {}}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::no_mesh);
  }
  a.runtime.reset();
}

class SplitsOfMembers : public PresenceFixture {
 protected:
  ~SplitsOfMembers() override { end(); }
  NoActions actions_;
  std::vector<SplitStatus> splits_;  // of a
};

// A large file takes a minute to be hashed. Until then it counts as the one of that name and size that another node
// has.
TEST_F(SplitsOfMembers, RequestsKnowAModelByItsNameHereBeforeItIsHashed) {
  come_together(2, [this](unsigned number, NodeOptions&) {
    auto& member = *members_[number];
    member.allotment = {.actions = &actions_, .disk = &member.disk};
    member.groups.processes = &actions_;
    member.groups.disk = &member.disk;
    if (number == 0) member.groups.publish_splits = [this](std::vector<SplitStatus> all) { splits_ = std::move(all); };
  });
  auto &a = member('a'), &b = member('b');
  have(b, "m", "weights", 40ull << 30);
  const auto knows = [this](const std::string& name) {
    return until([&] { return splits_.size() == 1 && splits_.front().name == name; });
  };
  EXPECT_TRUE(knows(""));
  a.facts.catalog = b.facts.catalog;
  a.runtime->set_facts(a.facts);
  EXPECT_TRUE(knows("m"));
  EXPECT_EQ(splits_.front().state, SplitStatus::State::coming);
}

TEST_F(SplitsOfMembers, WhoExaminesANodeWhoseDiskHangsIsToldSo) {
  come_together(1, [this](unsigned number, NodeOptions&) {
    auto& member = *members_[number];
    member.groups.processes = &actions_;
    member.groups.disk = &member.disk;
  });
  auto& a = member('a');
  EXPECT_NE(async::run_blocking(loop_, a.runtime->examine()).disk_free, 0u);
  std::promise<void> wakes;
  a.disk.post([waits = wakes.get_future()] { waits.wait(); });
  EXPECT_EQ(async::run_blocking(loop_, a.runtime->examine()).identity_problem, "the disk does not respond");
  wakes.set_value();
}

}  // namespace
}  // namespace corral::fleet
