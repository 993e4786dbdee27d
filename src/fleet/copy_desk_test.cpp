#include "fleet/copy_desk.h"

#include <fstream>

#include <gtest/gtest.h>

#include "async/loop.h"
#include "fleet/errors.h"
#include "fleet/no_peers_for_tests.h"
#include "mesh/copy/partial_model.h"
#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"
#include "models/content_hash.h"
#include "models/digest.h"
#include "proc/fake_spawner.h"

namespace corral::fleet {
namespace {

namespace fs = std::filesystem;

class CopyDeskTest : public testing::Test {
 protected:
  CopyDeskTest() {
    std::string name = testing::TempDir() + "desk-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    manifest_.model = "m";
    manifest_.files = {{"m.gguf", 3, models::digest_of("abc"), {models::digest_of("abc")}}};
    const std::vector<Sha256> parts = {manifest_.files[0].hash};
    manifest_.content = models::content_of(parts, std::nullopt);
    catalog_ = mesh::make_catalog({});
    desk_ = std::make_unique<CopyDesk>(loop_.executor(),
                                       CopyDeskParts{.peers = peers_,
                                                     .own = key_,
                                                     .timers = timers_,
                                                     .place = {.writes = &writes_,
                                                               .reads = &reads_,
                                                               .lists = &lists_,
                                                               .folder = folder_,
                                                               .arrived = [] {},
                                                               .inspector = &inspector_},
                                                     .on_disk = [](const Sha256&) { return std::nullopt; },
                                                     .catalog = [this] { return catalog_; },
                                                     .on_change = [] {}});
  }
  ~CopyDeskTest() override {
    async::run_blocking(loop_, desk_->stop());
    for (auto* threads : {&writes_, &reads_, &lists_}) threads->finish();
    fs::remove_all(folder_);
  }

  void somebody_has_it() {
    auto said = std::make_shared<mesh::Statement>();
    said->name = "far";
    said->models.resize(1);
    said->models[0].name = "m";
    said->models[0].bytes = 3;
    said->models[0].hash = manifest_.content;
    said->models[0].may_copy = true;
    catalog_ = mesh::make_catalog({{mesh::test_key(2).id(), mesh::Reach::linked, {}, said}});
    desk_->look();
  }
  bool until(const std::function<bool()>& done) {
    const auto limit = MonoClock::now() + std::chrono::seconds(20);
    while (!done() && MonoClock::now() < limit) {
      loop_.context().run_one_for(std::chrono::milliseconds(10));
      timers_.advance(Millis(1000));
    }
    return done();
  }

  fs::path folder_;
  mesh::Manifest manifest_;
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  async::ThreadPool writes_{1}, reads_{1}, lists_{1};
  mesh::SigningKey key_ = mesh::test_key(1);
  NoPeers peers_;
  proc::FakeSpawner spawner_{timers_};
  FileInspector inspector_{spawner_, timers_, "/bin/corral"};
  std::shared_ptr<const mesh::Catalog> catalog_;
  std::unique_ptr<CopyDesk> desk_;
};

TEST_F(CopyDeskTest, WhatARestartLeftWaitsForANodeThatHasIt) {
  ASSERT_TRUE(mesh::PartialModel::open(folder_, mesh::sign_manifest(key_, manifest_), [] { return true; }));
  desk_->start();
  ASSERT_TRUE(until([&] { return desk_->list().size() == 1; }));
  EXPECT_EQ(desk_->list()[0].state, CopyState::waiting);
  EXPECT_EQ(desk_->list()[0].model, "m");
  EXPECT_EQ(peers_.opened, 0);
  somebody_has_it();
  EXPECT_EQ(desk_->list()[0].state, CopyState::copying);
  EXPECT_TRUE(until([&] { return peers_.opened > 0; }));
}

TEST_F(CopyDeskTest, WhoseNodesGoWaitsForThem) {
  somebody_has_it();
  ASSERT_TRUE(desk_->order(catalog_->models()[0]));
  ASSERT_TRUE(until([&] { return peers_.opened > 0; }));
  catalog_ = mesh::make_catalog({});
  EXPECT_TRUE(until([&] { return desk_->list()[0].state == CopyState::waiting; }));
  EXPECT_NE(desk_->list()[0].problem, "");
  somebody_has_it();
  EXPECT_EQ(desk_->list()[0].state, CopyState::copying);
  EXPECT_EQ(desk_->list()[0].problem, "");
}

TEST_F(CopyDeskTest, WhatIsGivenUpLeavesNothingAndCanBeOrderedAgain) {
  ASSERT_TRUE(mesh::PartialModel::open(folder_, mesh::sign_manifest(key_, manifest_), [] { return true; }));
  somebody_has_it();
  ASSERT_TRUE(desk_->order(catalog_->models()[0]));
  EXPECT_TRUE(desk_->cancel(manifest_.content));
  EXPECT_FALSE(desk_->cancel(manifest_.content));
  EXPECT_TRUE(until([&] { return fs::is_empty(folder_); }));
  EXPECT_TRUE(desk_->order(catalog_->models()[0]));
}

TEST_F(CopyDeskTest, WhatNobodyHasIsRefused) {
  somebody_has_it();
  const auto there = catalog_->models()[0];
  catalog_ = mesh::make_catalog({});
  const auto refused = desk_->order(there);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, mesh::errc::not_offered);
}

constexpr std::uint64_t kDisk = 1ull << 40;

TEST_F(CopyDeskTest, RequestsOrderOnceAndTakeTheirShareOfTheDisk) {
  somebody_has_it();
  const auto& model = catalog_->models()[0];
  const auto full = desk_->order_for_request(model, 5);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, mesh::errc::disk_full);
  const auto first = desk_->order_for_request(model, kDisk);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->by_request);
  EXPECT_EQ(desk_->order_for_request(model, kDisk)->state, CopyState::copying);
  EXPECT_EQ(desk_->list().size(), 1u);
  // Whoever orders it himself doesn't leave it to chance.
  EXPECT_FALSE(desk_->order(model)->by_request);
}

TEST_F(CopyDeskTest, OneThatFailedIsntBegunAgainByRequests) {
  somebody_has_it();
  const auto model = catalog_->models()[0];
  ASSERT_TRUE(desk_->order_for_request(model, kDisk));
  EXPECT_TRUE(until([&] { return desk_->list()[0].state == CopyState::failed; }));
  const auto tries = peers_.opened;
  const auto refused = desk_->order_for_request(model, kDisk);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::copy_failed);
  EXPECT_EQ(peers_.opened, tries);
  timers_.advance(CopyDesk::kRest);
  EXPECT_TRUE(desk_->order_for_request(model, kDisk));
}

TEST_F(CopyDeskTest, OfTwoNodesThatCopyForRequestsOneGivesUp) {
  somebody_has_it();
  const auto model = catalog_->models()[0];
  const auto other_copies = [&](mesh::NodeId other) {
    const auto& holder = *catalog_->nodes().begin();
    auto said = std::make_shared<mesh::Statement>();
    said->copying = {{manifest_.content, 1, 3, 0, true}};
    catalog_ = mesh::make_catalog(
        {{mesh::test_key(2).id(), mesh::Reach::linked, {}, holder.said}, {other, mesh::Reach::linked, {}, said}});
    desk_->look();
  };
  mesh::NodeId higher, lower;
  higher.bytes.fill(255);
  peers_.own_.bytes.fill(9);
  ASSERT_TRUE(desk_->order_for_request(model, kDisk));
  other_copies(higher);
  EXPECT_EQ(desk_->list().size(), 1u);
  // What a person ordered stays.
  ASSERT_TRUE(desk_->order(model));
  other_copies(lower);
  EXPECT_EQ(desk_->list().size(), 1u);
  ASSERT_TRUE(desk_->cancel(manifest_.content));
  somebody_has_it();
  ASSERT_TRUE(desk_->order_for_request(model, kDisk));
  other_copies(lower);
  EXPECT_TRUE(desk_->list().empty());
}

}  // namespace
}  // namespace corral::fleet
