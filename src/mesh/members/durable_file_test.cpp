// Changes of a file while a thread writes it: in order, each on what the one before has done.
#include "mesh/members/durable_file.h"

#include <fstream>
#include <latch>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "mesh/members/join_token_store.h"
#include "mesh/members/member_store.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

using testing::ElementsAre;

class DurableFileTest : public testing::Test {
 protected:
  DurableFileTest() {
    disk.post([this] { answers.wait(); });
  }
  ~DurableFileTest() override {
    wake();
    disk.finish();
    loop.context().poll();
  }

  void wake() {
    if (!std::exchange(awake, true)) answers.count_down();
  }
  // Runs what needs no disk.
  void settle() {
    while (loop.context().poll() > 0) {
    }
    loop.context().restart();
  }
  void run_to_the_end() {
    wake();
    while (group.running() > 0) loop.context().run_one_for(std::chrono::milliseconds(100));
  }
  std::string on_disk() const {
    std::ostringstream text;
    text << std::ifstream(folder / "file").rdbuf();
    return text.str();
  }
  // Adds a letter to what is there.
  async::Task<void> add(DurableFile& to, char letter, bool refused = false) {
    auto made = std::make_shared<std::string>();
    auto changing = to.changed(
        [this, made, letter, refused]() -> Result<std::optional<std::string>> {
          if (refused) return fail(std::errc::permission_denied, "not this one");
          *made = holds + letter;
          return *made;
        },
        [this, made](const Result<>& written) {
          if (written) holds = *made;
        });
    const auto changed = co_await std::move(changing);
    ended.push_back(changed ? holds : "refused");
  }
  template <typename T>
  static async::Task<void> into(std::optional<T>& result, async::Task<T> task) {
    result = co_await std::move(task);
  }

  TestFolder folder;
  std::string holds;
  std::vector<std::string> ended;
  async::ThreadPool disk{1};
  std::latch answers{1};
  bool awake = false;
  async::Loop loop;
  async::TaskGroup group{loop.executor()};
};

TEST_F(DurableFileTest, ChangesFollowEachOther) {
  DurableFile file(folder / "file");
  file.use_disk(loop.executor(), disk);
  group.spawn("a", add(file, 'a'));
  group.spawn("no", add(file, 'x', true));
  group.spawn("b", add(file, 'b'));
  settle();
  EXPECT_EQ(holds, "");
  EXPECT_TRUE(ended.empty());
  run_to_the_end();
  EXPECT_THAT(ended, ElementsAre("a", "refused", "ab"));
  EXPECT_EQ(on_disk(), "ab");
}

TEST_F(DurableFileTest, AChangeHoldsThoughNobodyWaitsForItAnyMore) {
  {
    DurableFile file(folder / "file");
    file.use_disk(loop.executor(), disk);
    group.spawn("a", add(file, 'a'));
    settle();
    group.cancel();
    settle();
    EXPECT_EQ(group.running(), 0u);
    group.spawn("b", add(file, 'b'));
    settle();
  }
  run_to_the_end();
  EXPECT_EQ(on_disk(), "ab");
  EXPECT_EQ(holds, "ab");
}

TEST_F(DurableFileTest, MembersThatAreLetInAtOnceAreAllKept) {
  const auto a = test_key(1), b = test_key(2), c = test_key(3), d = test_key(4);
  auto store = *MemberStore::begin(folder.path(), MemberSet({a.public_key(), {}}));
  store.use_disk(loop.executor(), disk);
  std::optional<Result<>> for_b, for_c;
  group.spawn("b", into(for_b, store.admit(a, b.public_key())));
  group.spawn("c", into(for_c, store.admit(a, c.public_key())));
  settle();
  EXPECT_EQ(store.set().size(), 0u);
  // Told by others meanwhile, which holds at once.
  const std::vector<MemberRecord> records{sign_admit(a, store.set().mesh(), d.public_key())};
  EXPECT_TRUE(*store.learn(records));
  EXPECT_EQ(store.set().standing(d.id()), MembershipStatus::member);
  run_to_the_end();
  ASSERT_TRUE(for_b && *for_b && for_c && *for_c);
  EXPECT_EQ(store.set().size(), 3u);
  EXPECT_TRUE((*MemberStore::open(folder.path()))->set() == store.set());
}

TEST_F(DurableFileTest, ATokenIsUsedByOneOfTwoThatComeAtOnce) {
  const WallTime now{std::chrono::hours(24 * 365 * 50)};
  auto store = *JoinTokenStore::open(folder.path());
  const auto token = *at_once(store.issue({}, test_key(1).id(), {.seeds = {*parse_address("10.0.0.1:8100")}}, now));
  const auto token_is = token_id(token_key(token).public_key());
  store.use_disk(loop.executor(), disk);
  std::optional<Result<>> first, second;
  group.spawn("first", into(first, store.use(token_is, test_key(2).id(), now)));
  group.spawn("second", into(second, store.use(token_is, test_key(3).id(), now)));
  settle();
  EXPECT_EQ(store.open_count(now), 1u);
  run_to_the_end();
  ASSERT_TRUE(first && *first && second);
  EXPECT_FALSE(*second);
  EXPECT_EQ(JoinTokenStore::open(folder.path())->list().front().used_by, test_key(2).id());
}

}  // namespace
}  // namespace corral::mesh
