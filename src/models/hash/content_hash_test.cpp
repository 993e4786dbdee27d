#include "models/hash/content_hash.h"

#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/log.h"
#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kNoRest(0);

// What ends when the hashes of these models are known.
class ContentHashTest : public testing::Test {
 protected:
  ContentHashTest() { log::set_level(log::Level::none); }

  fs::path write(const std::string& name, std::string_view text) const {
    std::ofstream(dir / name, std::ios::binary) << text;
    return dir / name;
  }
  static ContentHashes::Model model(std::string name, std::vector<fs::path> paths, fs::path projector = {}) {
    ModelInfo info;
    info.name = ModelName(std::move(name));
    info.paths = std::move(paths);
    info.mmproj = std::move(projector);
    auto all = info.paths;
    if (!info.mmproj.empty()) all.push_back(info.mmproj);
    for (const auto& path : all) {
      struct stat found{};
      if (::stat(path.c_str(), &found) == 0) info.stamps.push_back(stamp_of(found));
    }
    return std::make_shared<const ModelInfo>(std::move(info));
  }
  // Wants them, and waits until none is missing.
  void hash(ContentHashes& hashes, std::vector<ContentHashes::Model> models) {
    hashes.want(std::move(models));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return hashes.missing() == 0; });
  }
  std::function<void()> on_change() {
    return [this] {
      const std::scoped_lock lock(mutex_);
      ++changes_;
      changed_.notify_all();
    };
  }

  const TempDir dir;
  std::mutex mutex_;
  std::condition_variable changed_;
  int changes_ = 0;
};

TEST_F(ContentHashTest, AFileHasTheHashThatOthersGiveIt) {
  const auto file = write("abc", "abc");
  const auto hash = hash_file(file, [] { return true; });
  ASSERT_TRUE(hash && *hash);
  EXPECT_EQ((*hash)->hash, sha256({"abc"}));
  const std::string large(3'500'000, 'x');
  EXPECT_EQ((*hash_file(write("large", large), [] { return true; }))->hash, sha256({large}));
  EXPECT_FALSE(hash_file(dir / "none", [] { return true; }));
}

// Each step is checked from the one before alone, and the last one is the hash of the whole.
TEST_F(ContentHashTest, TheStepsOfAHashLeadToIt) {
  for (const std::size_t size : {std::size_t{5}, std::size_t{kStepBytes}, std::size_t{2 * kStepBytes + 77}}) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; i += 61) text[i] = static_cast<char>(i >> 3);
    FileDigest digest;
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(std::min<std::size_t>(rest.size(), 999'983)))
      digest.add(rest.substr(0, 999'983));
    const auto made = digest.finish();
    EXPECT_EQ(made.hash, digest_of(text));
    EXPECT_EQ(made.hash, sha256({text}));
    EXPECT_EQ(made.bytes, size);
    ASSERT_EQ(made.steps.size(), steps_of(size));
    for (std::size_t i = 0; i < made.steps.size(); ++i) {
      Digest one(made.steps, i);
      one.add(std::string_view(text).substr(i * kStepBytes, kStepBytes));
      EXPECT_EQ(i + 1 < made.steps.size() ? one.state() : one.finish(), made.steps[i]) << i;
    }
  }
}

TEST_F(ContentHashTest, ItStopsWhenTold) {
  const auto file = write("large", std::string(8'000'000, 'x'));
  int asked = 0;
  const auto hash = hash_file(file, [&] { return ++asked < 3; });
  ASSERT_TRUE(hash);
  EXPECT_FALSE(*hash);
  EXPECT_EQ(asked, 3);
}

TEST_F(ContentHashTest, EqualBytesUnderOtherNamesAreOneContent) {
  const auto a = model("a", {write("a", "one")}), b = model("b", {write("b", "one")}),
             c = model("c", {write("c", "two")});
  ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest);
  hash(hashes, {a, b, c});
  ASSERT_TRUE(hashes.find(*a));
  EXPECT_EQ(hashes.find(*a), hashes.find(*b));
  EXPECT_NE(hashes.find(*a), hashes.find(*c));
  const FileHash one{3, sha256({"one"}), {sha256({"one"})}};
  EXPECT_THAT(hashes.files_of(*a), testing::ElementsAre(one));
}

TEST_F(ContentHashTest, PartsTheirOrderAndTheProjectorCount) {
  const auto one = sha256({"1"}), two = sha256({"2"});
  const std::vector<Sha256> first = {one}, both = {one, two}, turned = {two, one};
  const std::vector<ContentHash> all = {content_of(first, {}), content_of(both, {}), content_of(turned, {}),
                                        content_of(first, two)};
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
}

TEST_F(ContentHashTest, WhatIsKnownIsKeptAndAChangedFileIsReadAgain) {
  const auto path = write("m", "one");
  const auto wanted = model("m", {path});
  std::optional<ContentHash> before;
  {
    ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest);
    hash(hashes, {wanted});
    before = hashes.find(*wanted);
  }
  // A hash that was put there by hand shows that the file isn't read again.
  std::ifstream in(dir / "hashes.json");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto at = text.find("\"sha256\":\"") + 10;
  text.replace(at, 64, std::string(64, 'a'));
  write("hashes.json", text);
  {
    ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest);
    hash(hashes, {wanted});
    EXPECT_NE(hashes.find(*wanted), before);
    EXPECT_EQ(hashes.files_of(*wanted).front().hash.front(), 0xaa);
  }
  write("m", "longer");
  ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest);
  hash(hashes, {wanted});
  EXPECT_EQ(hashes.files_of(*wanted).front().hash, sha256({"longer"}));
}

TEST_F(ContentHashTest, AModelOfThatNameWithOtherFilesIsntKnown) {
  const auto known = model("m", {write("a", "one")});
  ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest);
  hash(hashes, {known});
  EXPECT_TRUE(hashes.find(*known));
  EXPECT_FALSE(hashes.find(*model("m", {dir / "b"})));
}

// Only the first file's time counted, and the size of all together.
TEST_F(ContentHashTest, EachFileOfAModelMayBecomeAnotherOne) {
  const auto first = write("m-1", "one"), second = write("m-2", "two"), projector = write("p", "xyz");
  ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest);
  const auto before = model("m", {first, second}, projector);
  hash(hashes, {before});
  const auto was = hashes.find(*before);
  ASSERT_TRUE(was);
  for (const auto& [path, text] : {std::pair(second, "TWO"), std::pair(projector, "XYZ")}) {
    write(path.filename(), text);
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
    const auto after = model("m", {first, second}, projector);
    EXPECT_FALSE(hashes.find(*after));
    hash(hashes, {after});
    ASSERT_TRUE(hashes.find(*after));
    EXPECT_NE(hashes.find(*after), was);
  }
  EXPECT_EQ(hashes.files_of(*model("m", {first, second}, projector)).back().hash, sha256({"XYZ"}));
}

// Scans come every other second and make new values of the same models; one that began a long file anew each time would
// never end it.
TEST_F(ContentHashTest, TheSameWishAgainDisturbsNothing) {
  const auto path = write("m", "one");
  ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest);
  hash(hashes, {model("m", {path})});
  const auto changes = changes_;
  for (int i = 0; i < 3; ++i) hashes.want({model("m", {path})});
  EXPECT_EQ(hashes.missing(), 0u);
  EXPECT_TRUE(hashes.find(*model("m", {path})));
  EXPECT_EQ(changes_, changes);
}

TEST_F(ContentHashTest, AFileThatIsBeingWrittenWaits) {
  const auto fresh = model("fresh", {write("fresh", "one")}), old = model("old", {write("old", "two")});
  fs::last_write_time(dir / "old", fs::file_time_type::clock::now() - std::chrono::hours(1));
  ContentHashes hashes(dir / "hashes.json", on_change(), std::chrono::hours(1) - std::chrono::minutes(1));
  hashes.want({fresh, old});
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return changes_ == 1; });
  EXPECT_TRUE(hashes.find(*old));
  EXPECT_FALSE(hashes.find(*fresh));
}

TEST_F(ContentHashTest, ADamagedFileIsPutAside) {
  write("hashes.json", "{nonsense");
  const auto wanted = model("m", {write("a", "one")});
  ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest);
  hash(hashes, {wanted});
  EXPECT_TRUE(hashes.find(*wanted));
  EXPECT_TRUE(fs::exists(dir / "hashes.json.broken"));
}

// The process ended there, at each start.
TEST_F(ContentHashTest, NumbersThatFitNowhereAreNoHashes) {
  write("hashes.json",
        R"({"files":[{"path":"/x","size":1,"mtime_ns":18446744073709551615,"inode":18446744073709551615,)"
        R"("sha256":")" +
            std::string(64, 'a') + R"("}]})");
  const auto wanted = model("m", {write("a", "one")});
  ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest);
  hash(hashes, {wanted});
  EXPECT_TRUE(hashes.find(*wanted));
}

TEST_F(ContentHashTest, NoExceptionEndsTheProcess) {
  std::set<fs::path> asked;
  const auto hasher = [&](const fs::path& path, const auto& go_on) {
    asked.insert(path.filename());
    if (path.filename() == "a") throw std::runtime_error("no thread");
    if (path.filename() == "b") throw 7;
    return hash_file(path, go_on);
  };
  const auto a = model("a", {write("a", "1")}), b = model("b", {write("b", "2")}), c = model("c", {write("c", "3")});
  ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest, hasher);
  hashes.want({a, b, c});
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return changes_ == 1; });
  }
  EXPECT_FALSE(hashes.find(*a));
  EXPECT_FALSE(hashes.find(*b));
  EXPECT_TRUE(hashes.find(*c));
  EXPECT_TRUE(hashes.finish_within(std::chrono::minutes(1)));
  EXPECT_THAT(asked, testing::ElementsAre("a", "b", "c"));
}

// A wish that came between two files of a model was forgotten with the second one: forty gigabytes, for nobody.
TEST_F(ContentHashTest, AFileThatNobodyWantsAnyMoreIsntBegun) {
  const auto one = write("one", "1"), two = write("two", "2"), three = write("three", "3");
  const auto before = model("before", {one, two}), after = model("after", {one, three});
  std::set<fs::path> asked;
  ContentHashes* target = nullptr;
  const auto hasher = [&](const fs::path& path, const auto& go_on) {
    asked.insert(path.filename());
    if (path == one) target->want({after});
    return hash_file(path, go_on);
  };
  ContentHashes hashes(dir / "hashes.json", on_change(), kNoRest, hasher);
  target = &hashes;
  hashes.want({before});
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return hashes.find(*after).has_value(); });
  }
  EXPECT_TRUE(hashes.finish_within(std::chrono::minutes(1)));
  EXPECT_THAT(asked, testing::ElementsAre("one", "three"));
}

// A thread that yields to everybody held what everybody waits for. A thread of SCHED_IDLE does so even inside of the
// allocator.
TEST_F(ContentHashTest, OnlyReadingYields) {
  constexpr int kUnknown = 100, kLowest = 19;
  int reading = kUnknown, notifying = kUnknown;
  bool is_idle = false;
  const auto hasher = [&](const fs::path& path, const auto& go_on) {
    return hash_file(path, [&] {
      reading = ::getpriority(PRIO_PROCESS, 0);
      is_idle |= ::sched_getscheduler(0) == SCHED_IDLE;
      return go_on();
    });
  };
  const auto on_change = [&] {
    const std::scoped_lock lock(mutex_);
    notifying = ::getpriority(PRIO_PROCESS, 0);
    changed_.notify_all();
  };
  ContentHashes hashes(dir / "hashes.json", on_change, kNoRest, hasher);
  hashes.want({model("m", {write("a", "one")})});
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return notifying != kUnknown; });
  EXPECT_EQ(notifying, ::getpriority(PRIO_PROCESS, 0)) << "as everybody's";
  EXPECT_EQ(reading, std::min(notifying + 10, kLowest));
  EXPECT_FALSE(is_idle);
}

TEST_F(ContentHashTest, WithoutAWishThereIsNoThreadAndAnEndComesAtOnce) {
  ContentHashes idle(dir / "hashes.json", on_change(), kNoRest);
  EXPECT_TRUE(idle.finish_within(std::chrono::milliseconds(0)));
  EXPECT_FALSE(fs::exists(dir / "hashes.json"));
  ContentHashes busy(dir / "hashes.json", {}, kNoRest);
  busy.want({model("m", {write("large", std::string(64'000'000, 'x'))})});
  EXPECT_TRUE(busy.finish_within(std::chrono::seconds(60)));
}

}  // namespace
}  // namespace corral::models
