// Copies for requests: who is asked, what clients are told, and that it is never asked for twice.
#include "fleet/copy_bringer.h"

#include <gmock/gmock.h>

#include "async/loop.h"
#include "fleet/errors.h"
#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr unsigned kHolder = 1, kFirst = 2, kSecond = 3;

class CopyBringerTest : public testing::Test {
 protected:
  CopyBringerTest() {
    content_.fill(7);
    say({});
  }
  ~CopyBringerTest() override { async::run_blocking(loop_, bringer_.stop()); }
  static mesh::NodeId id(unsigned number) { return mesh::test_key(number).id(); }
  // `copying`: at the first node, so far.
  void say(std::optional<mesh::CopyingModel> copying) {
    std::vector<mesh::KnownNode> known;
    for (const auto number : {kHolder, kFirst, kSecond}) {
      auto said = std::make_shared<mesh::Statement>();
      said->name = "node" + std::to_string(number);
      if (number == kHolder) {
        auto& model = said->models.emplace_back();
        model.name = "m";
        model.bytes = 100;
        model.hash = content_;
        model.may_copy = true;
      }
      if (number == kFirst && copying) said->copying = {*copying};
      known.push_back({id(number), mesh::Reach::linked, Millis(1), said});
    }
    catalog_ = mesh::make_catalog(std::move(known));
  }
  std::optional<Error> bring(std::vector<mesh::NodeId> to = {id(kFirst), id(kSecond)}) {
    auto told = bringer_.bring(*catalog_, *catalog_->find("m").model, to);
    loop_.context().restart();
    loop_.context().poll();
    return told;
  }
  async::Task<Result<CopyView>> order(mesh::NodeId node, Sha256) {
    asked_.push_back(node);
    if (answer_) co_return *answer_;
    co_return CopyView{.content = content_, .model = "m", .state = CopyState::copying, .done = 0, .total = 100};
  }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  Sha256 content_{};
  std::shared_ptr<const mesh::Catalog> catalog_;
  std::vector<mesh::NodeId> asked_;
  std::optional<Result<CopyView>> answer_;
  CopyBringer bringer_{loop_.executor(), timers_,
                       [this](mesh::NodeId node, Sha256 content) { return order(node, content); }};
};

TEST_F(CopyBringerTest, TheBestNodeIsAskedOnceAndClientsAreToldHowItGoes) {
  for (int i = 0; i < 5; ++i) {
    const auto told = bring();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->code, errc::being_copied);
    EXPECT_THAT(told->message, HasSubstr("'m' is being copied to node2"));
    EXPECT_TRUE(told->retry_after);
  }
  EXPECT_THAT(asked_, ElementsAre(id(kFirst)));
  say(mesh::CopyingModel{content_, 40, 100, 2, true});
  const auto told = bring();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->message, HasSubstr("40 %, about 31 s left"));
  EXPECT_EQ(told->retry_after, std::chrono::seconds(31));
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(CopyBringerTest, WhatSomebodyCopiesForRequestsIsntOrdered) {
  say(mesh::CopyingModel{content_, 0, 100, 0, true});
  EXPECT_EQ(bring({id(kSecond)})->code, errc::being_copied);
  EXPECT_EQ(bring({})->code, errc::being_copied);
  EXPECT_TRUE(asked_.empty());
}

// An administrator's copy helps only where the model can be loaded.
TEST_F(CopyBringerTest, WhatAnAdministratorCopiesElsewhereKeepsNobodyFromOrdering) {
  say(mesh::CopyingModel{content_, 0, 100, 0, false});
  EXPECT_FALSE(bring({}));
  EXPECT_THAT(bring()->message, HasSubstr("to node2"));
  EXPECT_TRUE(asked_.empty());
  EXPECT_THAT(bring({id(kSecond)})->message, HasSubstr("to node3"));
  EXPECT_THAT(asked_, ElementsAre(id(kSecond)));
}

TEST_F(CopyBringerTest, WhoHasOtherCopiesToMakeIsAskedAgainSoon) {
  answer_ = fail(mesh::errc::too_many, "4 copies for requests are under way");
  (void)bring({id(kFirst)});
  EXPECT_EQ(bring({id(kFirst)})->code, errc::nowhere);
  timers_.advance(CopyBringer::kShortRest);
  EXPECT_EQ(bring({id(kFirst)})->code, errc::being_copied);
  EXPECT_EQ(asked_.size(), 2u);
}

// What a node says of its troubles may name its files.
TEST_F(CopyBringerTest, ClientsAreToldTheCauseInOurWords) {
  answer_ = CopyView{.content = content_, .state = CopyState::failed, .problem = "/home/ann/secret: full"};
  (void)bring({id(kFirst)});
  EXPECT_THAT(bring({id(kFirst)})->message, testing::Not(HasSubstr("ann")));
  answer_ = fail(errc::copy_failed, "/home/ann/secret: full");
  (void)bring({id(kSecond)});
  EXPECT_THAT(bring({id(kSecond)})->message, testing::Not(HasSubstr("ann")));
}

TEST_F(CopyBringerTest, WhoRefusesIsntAskedAgainForAWhile) {
  answer_ = fail(mesh::errc::disk_full, "the disk is full");
  EXPECT_EQ(bring()->code, errc::being_copied);
  EXPECT_EQ(bring()->code, errc::being_copied);
  EXPECT_THAT(asked_, ElementsAre(id(kFirst), id(kSecond)));
  for (int i = 0; i < 5; ++i) {
    const auto told = bring();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->code, errc::nowhere);
    EXPECT_THAT(told->message, HasSubstr("node2: its disk has no room for it"));
  }
  EXPECT_EQ(asked_.size(), 2u);
  timers_.advance(CopyBringer::kRest);
  (void)bring();
  EXPECT_EQ(asked_.size(), 3u);
}

TEST_F(CopyBringerTest, ACopyThatNeverShowsIsOrderedAgain) {
  (void)bring();
  timers_.advance(CopyBringer::kShown - Millis(1));
  (void)bring();
  EXPECT_EQ(asked_.size(), 1u);
  timers_.advance(Millis(1));
  (void)bring();
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(CopyBringerTest, WhereNobodyCanHaveACopyThereIsNothingToTell) {
  EXPECT_FALSE(bring({}));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(CopyBringerTest, WhatIsToldOfEndsAndBeginnings) {
  EXPECT_THAT(being_copied("m", "box", std::nullopt).message, HasSubstr("just begun"));
  CopyView view{.done = 100, .total = 100};
  EXPECT_THAT(being_copied("m", "box", view).message, HasSubstr("being checked"));
  view.done = 1;
  view.total = 1ull << 56;
  view.bytes_per_second = 1;
  EXPECT_EQ(being_copied("m", "box", view).retry_after, std::chrono::seconds(300));
}

}  // namespace
}  // namespace corral::fleet
