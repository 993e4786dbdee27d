#include "fleet/copies/copy_manager.h"

#include <fstream>

#include <gmock/gmock.h>

#include "async/loop.h"
#include "async/settle_for_tests.h"
#include "fleet/base/errors.h"
#include "fleet/base/no_peers_for_tests.h"
#include "fleet/copies/copy_marks.h"
#include "mesh/copy/partial_model.h"
#include "mesh/identity/errors.h"
#include "mesh/net/memory_network_for_tests.h"
#include "mesh/support_for_tests.h"
#include "models/hash/content_hash.h"
#include "models/hash/digest.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::fleet {
namespace {

namespace fs = std::filesystem;

class GivingPeers final : public NoPeers {
 public:
  async::Task<Result<std::unique_ptr<mesh::Stream>>> open(mesh::NodeId node, mesh::Purpose purpose) override {
    ++opened;
    if (network == nullptr) co_return fail(mesh::errc::link_closed, "it has just gone");
    const std::vector<mesh::NodeId> pins{node};
    const mesh::Address far("far", 1);
    auto dialling = network->dial(far, pins, purpose);
    co_return co_await std::move(dialling);
  }
  mesh::Network* network = nullptr;
};

class CopyManagerTest : public testing::Test {
 protected:
  CopyManagerTest() {
    locked_in();
    std::string name = testing::TempDir() + "desk-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    manifest_.model = "m";
    manifest_.files = {{"m.gguf", 3, models::digest_of("abc"), {models::digest_of("abc")}}};
    const std::vector<Sha256> parts = {manifest_.files[0].hash};
    manifest_.content = models::content_of(parts, std::nullopt);
    now_is(mesh::make_catalog({}));
    manager_ = std::make_unique<CopyManager>(loop_.executor(),
                                             CopyManagerParts{.peers = peers_,
                                                              .own = key_,
                                                              .timers = timers_,
                                                              .storage = {.writes = &writes_,
                                                                          .reads = &reads_,
                                                                          .lists = &lists_,
                                                                          .folder = folder_,
                                                                          .arrived = [] {},
                                                                          .inspector = &inspector_},
                                                              .on_disk = [this](const Sha256&) { return on_disk_; },
                                                              .catalog = [this] { return catalog_; },
                                                              .on_change = [] {}});
  }
  ~CopyManagerTest() override {
    if (manager_) async::run_blocking(loop_, manager_->stop());
    for (auto* threads : {&writes_, &reads_, &lists_}) threads->finish();
    fs::remove_all(folder_);
  }

  // Whoever is to look at files can be locked in, and then does nothing.
  void locked_in() {
    spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      const bool only_locks = process->spec().argv.size() == 2;
      process->print("locked");
      if (only_locks) process->exit(0);
      co_return;
    };
  }
  void add_source() {
    auto state = std::make_shared<mesh::NodeState>();
    state->name = "far";
    state->models.resize(1);
    state->models[0].name = "m";
    state->models[0].bytes = 3;
    state->models[0].hash = manifest_.content;
    state->models[0].may_copy = true;
    now_is(mesh::make_catalog({{mesh::test_key(2).id(), mesh::Reach::linked, {}, state}}));
    manager_->look();
  }
  // Time passes only when no disk has anything to do.
  bool until(const std::function<bool()>& done, Millis step = Millis(1000)) {
    async::ThreadPool* const disks[] = {&writes_, &reads_, &lists_};
    for (Millis gone(0); gone < std::chrono::hours(1); gone += step) {
      if (async::settle(loop_, disks, done)) return true;
      timers_.advance(step);
    }
    return false;
  }

  fs::path folder_;
  mesh::Manifest manifest_;
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  async::ThreadPool writes_{1}, reads_{1}, lists_{1};
  mesh::SigningKey key_ = mesh::test_key(1);
  GivingPeers peers_;
  proc::FakeSpawner spawner_{timers_};
  FileInspector inspector_{spawner_, timers_, "/bin/corral"};
  // A model refers to its catalog, so those of before live on.
  void now_is(std::shared_ptr<const mesh::Catalog> catalog) {
    kept_.push_back(catalog);
    catalog_ = std::move(catalog);
  }
  std::shared_ptr<const mesh::Catalog> catalog_;
  std::vector<std::shared_ptr<const mesh::Catalog>> kept_;
  std::optional<DiskModel> on_disk_;
  std::unique_ptr<CopyManager> manager_;
};

TEST_F(CopyManagerTest, WhatARestartLeftWaitsForANodeThatHasIt) {
  ASSERT_TRUE(mesh::PartialModel::open(folder_, mesh::sign_manifest(key_, manifest_), [] { return true; }));
  manager_->start();
  ASSERT_TRUE(until([&] { return manager_->list().size() == 1; }));
  EXPECT_EQ(manager_->list()[0].state, CopyState::waiting);
  EXPECT_EQ(manager_->list()[0].model, "m");
  EXPECT_EQ(peers_.opened, 0);
  add_source();
  EXPECT_EQ(manager_->list()[0].state, CopyState::copying);
  EXPECT_TRUE(until([&] { return peers_.opened > 0; }));
}

TEST_F(CopyManagerTest, WhoseNodesGoWaitsForThem) {
  add_source();
  ASSERT_TRUE(manager_->order(catalog_->models()[0]));
  ASSERT_TRUE(until([&] { return peers_.opened > 0; }));
  now_is(mesh::make_catalog({}));
  EXPECT_TRUE(until([&] { return manager_->list()[0].state == CopyState::waiting; }));
  EXPECT_NE(manager_->list()[0].problem, "");
  add_source();
  EXPECT_EQ(manager_->list()[0].state, CopyState::copying);
  EXPECT_EQ(manager_->list()[0].problem, "");
}

TEST_F(CopyManagerTest, WhatIsGivenUpLeavesNothingAndCanBeOrderedAgain) {
  ASSERT_TRUE(mesh::PartialModel::open(folder_, mesh::sign_manifest(key_, manifest_), [] { return true; }));
  add_source();
  ASSERT_TRUE(manager_->order(catalog_->models()[0]));
  EXPECT_TRUE(manager_->cancel(manifest_.content));
  EXPECT_FALSE(manager_->cancel(manifest_.content));
  EXPECT_TRUE(until([&] { return fs::is_empty(folder_); }));
  EXPECT_TRUE(manager_->order(catalog_->models()[0]));
}

TEST_F(CopyManagerTest, WhatNobodyHasIsRefused) {
  add_source();
  const auto there = catalog_->models()[0];
  now_is(mesh::make_catalog({}));
  const auto refused = manager_->order(there);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, mesh::errc::not_offered);
}

constexpr std::uint64_t kDisk = 1ull << 40;

TEST_F(CopyManagerTest, TheAllocationOrdersOnceAndTakesItsShareOfTheDisk) {
  add_source();
  const auto& model = catalog_->models()[0];
  const auto full = manager_->order_for_allocation(model, 5);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, mesh::errc::disk_full);
  const auto first = manager_->order_for_allocation(model, kDisk);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->by_allocation);
  EXPECT_EQ(manager_->order_for_allocation(model, kDisk)->state, CopyState::copying);
  EXPECT_EQ(manager_->list().size(), 1u);
  // Whoever orders it himself doesn't leave it to chance.
  EXPECT_FALSE(manager_->order(model)->by_allocation);
}

TEST_F(CopyManagerTest, OneThatFailedIsntBegunAgainByTheAllocation) {
  add_source();
  const auto model = catalog_->models()[0];
  ASSERT_TRUE(manager_->order_for_allocation(model, kDisk));
  EXPECT_TRUE(until([&] { return manager_->list()[0].state == CopyState::failed; }));
  const auto tries = peers_.opened;
  const auto refused = manager_->order_for_allocation(model, kDisk);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::copy_failed);
  EXPECT_EQ(peers_.opened, tries);
  timers_.advance(CopyManager::kRest);
  EXPECT_TRUE(manager_->order_for_allocation(model, kDisk));
}

TEST_F(CopyManagerTest, OfTwoNodesThatCopyForTheAllocationOneGivesUp) {
  add_source();
  const auto model = catalog_->models()[0];
  const auto holder = catalog_->nodes().begin()->node_state;
  const auto other_copies = [&](mesh::NodeId other, std::uint64_t done, bool by_allocation = true) {
    auto state = std::make_shared<mesh::NodeState>();
    state->copying = {{manifest_.content, done, 3, 0, by_allocation}};
    now_is(mesh::make_catalog(
        {{mesh::test_key(2).id(), mesh::Reach::linked, {}, holder}, {other, mesh::Reach::linked, {}, state}}));
    manager_->look();
  };
  mesh::NodeId higher, lower;
  higher.bytes.fill(255);
  peers_.own_.bytes.fill(9);
  ASSERT_TRUE(manager_->order_for_allocation(model, kDisk));
  // Who only says so, whatever its id, and what an administrator ordered there.
  for (const auto& other : {higher, lower}) {
    other_copies(other, 0);
    other_copies(other, 0);
  }
  other_copies(lower, 1, false);
  EXPECT_EQ(manager_->list().size(), 1u);
  // What a person ordered stays.
  ASSERT_TRUE(manager_->order(model));
  other_copies(lower, 2);
  EXPECT_EQ(manager_->list().size(), 1u);
  ASSERT_TRUE(manager_->cancel(manifest_.content));
  add_source();
  ASSERT_TRUE(manager_->order_for_allocation(model, kDisk));
  other_copies(higher, 1);
  EXPECT_EQ(manager_->list().size(), 1u);
  other_copies(higher, 2);  // it is further
  EXPECT_TRUE(manager_->list().empty());
}

TEST_F(CopyManagerTest, WhatTheAllocationOrderedIsStillItsOwnAfterARestart) {
  ASSERT_TRUE(mesh::PartialModel::open(folder_, mesh::sign_manifest(key_, manifest_), [] { return true; }));
  write_copy_marks(folder_, {manifest_.content});
  manager_->start();
  ASSERT_TRUE(until([&] { return manager_->list().size() == 1; }));
  EXPECT_TRUE(manager_->list()[0].by_allocation);
  add_source();
  EXPECT_FALSE(manager_->order(catalog_->models()[0])->by_allocation);
  EXPECT_TRUE(until([&] { return read_copy_marks(folder_).empty(); }));
  // And is noted when it is ordered.
  ASSERT_TRUE(manager_->cancel(manifest_.content));
  ASSERT_TRUE(manager_->order_for_allocation(catalog_->models()[0], kDisk));
  EXPECT_TRUE(until([&] { return read_copy_marks(folder_).contains(manifest_.content); }));
}

TEST_F(CopyManagerTest, WhatTheAllocationOrderedEndsWhenItMayNot) {
  add_source();
  const auto model = catalog_->models()[0];
  ASSERT_TRUE(manager_->order_for_allocation(model, kDisk));
  manager_->allow_allocation(true);
  EXPECT_EQ(manager_->list().size(), 1u);
  manager_->allow_allocation(false);
  EXPECT_TRUE(manager_->list().empty());
  ASSERT_TRUE(manager_->order(model));
  manager_->allow_allocation(false);
  EXPECT_EQ(manager_->list().size(), 1u);
}

TEST_F(CopyManagerTest, WhatWasGivenUpIsntOrderedAgainByTheAllocation) {
  add_source();
  const auto model = catalog_->models()[0];
  ASSERT_TRUE(manager_->order_for_allocation(model, kDisk));
  EXPECT_TRUE(manager_->cancel(manifest_.content));
  ASSERT_EQ(manager_->list().size(), 1u);
  EXPECT_EQ(manager_->list()[0].state, CopyState::failed);
  timers_.advance(CopyManager::kRest);
  EXPECT_EQ(manager_->order_for_allocation(model, kDisk).error().code, errc::not_admin_here);
  EXPECT_TRUE(manager_->cancel(manifest_.content));
  EXPECT_TRUE(manager_->list().empty());
  EXPECT_FALSE(manager_->order_for_allocation(model, kDisk));
  EXPECT_TRUE(manager_->order(model));
}

// Where nobody can be locked in the refusal came when the whole model was there.
TEST_F(CopyManagerTest, WhereNobodyCanLookAtFilesNothingIsCopied) {
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->print("trouble seccomp: Operation not permitted");
    process->exit(kCantInspect);
    co_return;
  };
  add_source();
  EXPECT_TRUE(manager_->can_take());
  ASSERT_TRUE(manager_->order(catalog_->models()[0]));
  ASSERT_TRUE(until([&] { return manager_->list()[0].state == CopyState::failed; }, Millis(20)));
  EXPECT_THAT(manager_->list()[0].problem, testing::HasSubstr("seccomp: Operation not permitted"));
  EXPECT_THAT(manager_->list()[0].problem, testing::HasSubstr("by hand"));
  EXPECT_EQ(peers_.opened, 0);
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_FALSE(manager_->can_take());
  // It is asked again, and once is enough.
  locked_in();
  const auto asked = spawner_.processes().size();
  ASSERT_TRUE(manager_->order(catalog_->models()[0]));
  EXPECT_TRUE(until([&] { return peers_.opened > 0; }));
  EXPECT_TRUE(manager_->can_take());
  EXPECT_EQ(spawner_.processes().size(), asked + 1);
}

// Copies that come to an end: node 2 gives the files.
class WholeCopyTest : public CopyManagerTest, private mesh::CopyProvider {
 protected:
  WholeCopyTest() {
    const std::vector<fs::path> paths = {folder_ / "there" / "m.gguf"};
    fs::create_directories(folder_ / "there");
    std::ofstream(paths[0]) << "abc";
    offered_ = std::make_shared<mesh::OfferedModel>(manifest_, paths, encode(sign_manifest(far_, manifest_)));
    near_network_ = air_.add(key_.public_key(), {"near", 1}, {});
    far_network_ = air_.add(far_.public_key(), {"far", 1}, [](const auto&, auto) { return Result<>(); });
    peers_.network = near_network_.get();
    group_.spawn("give", give());
    add_source();
  }
  ~WholeCopyTest() override {
    async::run_blocking(loop_, manager_->stop());
    manager_.reset();
    group_.cancel();
    near_network_.reset();
    far_network_.reset();
    async::run_blocking(loop_, group_.join());
  }
  async::Task<void> give() {
    while (true) {
      auto stream = co_await far_network_->accept();
      if (!stream) co_return;
      group_.spawn("give", give_one(std::move(*stream)));
    }
  }
  async::Task<void> give_one(std::unique_ptr<mesh::Stream> stream) {
    (void)co_await mesh::serve_copy(std::move(stream), *this, reads_, timers_);
  }
  async::Task<Result<mesh::OfferedModelPtr>> find(Sha256) override { co_return offered_; }
  // A copy for the allocation, looked at by a child that says this.
  CopyState end_of_copy(std::string output, int exit) {
    spawner_.script = [=](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      process->print("locked");
      if (!output.empty()) process->print(output);
      process->exit(exit);
      co_return;
    };
    EXPECT_TRUE(manager_->order_for_allocation(catalog_->models()[0], 1ull << 40));
    const auto ended = [&] { return manager_->list()[0].state > CopyState::copying; };
    EXPECT_TRUE(until(ended, Millis(20)));
    return manager_->list()[0].state;
  }

  mesh::SigningKey far_ = mesh::test_key(2);
  mesh::OfferedModelPtr offered_;
  mesh::MemoryNetwork air_{loop_.executor(), timers_};
  std::unique_ptr<mesh::Network> near_network_, far_network_;
  async::TaskGroup group_{loop_.executor()};
};

TEST_F(WholeCopyTest, WhatItsOwnerRemovedIsntCopiedAgainByTheAllocation) {
  ASSERT_EQ(end_of_copy("", 0), CopyState::done);
  const auto model = catalog_->models()[0];
  EXPECT_EQ(manager_->order_for_allocation(model, 1ull << 40)->state, CopyState::done);
  timers_.advance(CopyManager::kSettle + Millis(1000));
  on_disk_ = DiskModel{};
  EXPECT_EQ(manager_->order_for_allocation(model, 1ull << 40)->state, CopyState::done);
  on_disk_.reset();
  EXPECT_EQ(manager_->order_for_allocation(model, 1ull << 40).error().code, errc::copy_not_needed);
  ASSERT_TRUE(manager_->cancel(manifest_.content));
  EXPECT_FALSE(manager_->order_for_allocation(model, 1ull << 40));
  EXPECT_TRUE(manager_->order(model));
}

TEST_F(WholeCopyTest, WhatIsRefusedIsntCopiedAgainByTheAllocation) {
  ASSERT_EQ(end_of_copy("refused 'm.gguf': it ends too early", kFilesRefused), CopyState::failed);
  const auto model = catalog_->models()[0];
  timers_.advance(CopyManager::kRest);
  EXPECT_EQ(manager_->order_for_allocation(model, 1ull << 40).error().code, errc::files_refused);
  EXPECT_TRUE(manager_->order(model));
}

// Each copy alone would take half of what is left.
TEST_F(CopyManagerTest, AllCopiesForTheAllocationShareOneHalfOfTheDisk) {
  auto state = std::make_shared<mesh::NodeState>();
  for (const auto number : {1, 2, 3}) {
    auto& model = state->models.emplace_back();
    model.name = "m" + std::to_string(number);
    model.bytes = 40;
    model.hash.emplace().fill(static_cast<unsigned char>(number));
    model.may_copy = true;
  }
  now_is(mesh::make_catalog({{mesh::test_key(2).id(), mesh::Reach::linked, {}, state}}));
  const auto order = [&](std::size_t at, std::uint64_t free) {
    return manager_->order_for_allocation(catalog_->models()[at], free);
  };
  ASSERT_TRUE(order(0, 160));
  ASSERT_TRUE(order(1, 120));
  EXPECT_EQ(order(2, 80).error().code, mesh::errc::disk_full);
  EXPECT_EQ(order(2, 1000).error().code, mesh::errc::disk_full);
  ASSERT_TRUE(manager_->cancel(*state->models[0].hash));
  EXPECT_TRUE(order(2, 120));
}

}  // namespace
}  // namespace corral::fleet
