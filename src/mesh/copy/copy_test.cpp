// Copies over both kinds of networks, from real files into real folders.
#include <fstream>
#include <latch>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "async/event.h"
#include "base/secret.h"
#include "mesh/copy/copy_fetch.h"
#include "mesh/copy/copy_source.h"
#include "mesh/copy/copy_wire.h"
#include "mesh/copy/partial_model.h"
#include "mesh/link/network_fixture_for_tests.h"
#include "models/hash/content_hash.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

const GoOn kGoOn = [] { return true; };

// 2 ranges and a bit, and a file that is shorter than a range.
constexpr std::size_t kLong = 2 * kRangeBytes + 12'345, kShort = 4'321;

std::string made_up(std::size_t bytes, std::uint64_t seed) {
  std::string text(bytes, '\0');
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (std::size_t i = 0; i < bytes; i += 8) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::memcpy(text.data() + i, &state, std::min<std::size_t>(8, bytes - i));
  }
  return text;
}

void write_file(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class TestCopyProvider final : public CopyProvider {
 public:
  async::Task<Result<OfferedModelPtr>> find(Sha256 content) override {
    if (!model || model->manifest.content != content) co_return fail(errc::not_offered, "the shelf is empty");
    co_return model;
  }
  OfferedModelPtr model;
};

// Gives so many bytes of another stream, and then none, as a node whose disk hangs.
class StallingStream final : public Stream {
 public:
  struct Counts {
    std::size_t given = 0;
    bool stalled = false;
  };
  StallingStream(async::Executor executor, std::unique_ptr<Stream> inner, std::size_t gives, Counts& counts)
      : inner_(std::move(inner)), left_(gives), counts_(counts), never_(executor) {}
  const Peer& peer() const override { return inner_->peer(); }
  Purpose purpose() const override { return inner_->purpose(); }
  async::Task<Result<std::size_t>> read_some(std::span<char> space) override {
    if (left_ == 0) {
      counts_.stalled = true;
      co_await never_.wait();
    }
    auto reading = inner_->read_some(space.first(std::min(space.size(), left_)));
    auto got = co_await std::move(reading);
    if (got) left_ -= *got;
    if (got) counts_.given += *got;
    co_return got;
  }
  async::Task<Result<bool>> readable() override { return inner_->readable(); }
  bool is_quiet() const override { return inner_->is_quiet(); }
  async::Task<Result<>> write(std::string_view bytes) override { return inner_->write(bytes); }
  async::Task<void> finish() override { return inner_->finish(); }
  void close() override { inner_->close(); }
  Sha256 exporter(std::string_view label) const override { return inner_->exporter(label); }

 private:
  const std::unique_ptr<Stream> inner_;
  std::size_t left_;
  Counts& counts_;
  async::Event never_;
};

class CopyTest : public NetworkFixture {
 protected:
  CopyTest() {
    disks = {&files, &reads};
    std::string name = testing::TempDir() + "copy-XXXXXX";
    root = ::mkdtemp(name.data());
    fs::create_directories(there());
    fs::create_directories(here());
    long_text = made_up(kLong, 1);
    write_file(there() / "m-00001-of-00002.gguf", long_text);
    write_file(there() / "m-00002-of-00002.gguf", made_up(kShort, 2));
    offer();
  }
  ~CopyTest() override {
    files.finish();
    reads.finish();
    fs::remove_all(root);
  }

  fs::path there() const { return root / "there"; }
  fs::path here() const { return root / "here"; }
  fs::path goal() const {
    return here() / fmt::format("m-00001-of-00002-{}", to_hex(provider.model->manifest.content).substr(0, 8));
  }

  void offer() {
    const std::vector<fs::path> paths = {there() / "m-00001-of-00002.gguf", there() / "m-00002-of-00002.gguf"};
    auto hashes = read_hashes(paths, kGoOn);
    ASSERT_TRUE(hashes && *hashes);
    auto made = make_manifest("m", "org/m:Q8_0", paths, false, std::move(**hashes));
    ASSERT_TRUE(made) << made.error().message;
    provider.model = std::make_shared<OfferedModel>(*made, paths, encode(sign_manifest(b, *made)));
  }

  // b gives, to as many streams as come.
  async::Task<void> give() {
    while (true) {
      auto stream = co_await net_b->accept();
      if (!stream) co_return;
      group.spawn("give", give_one(std::move(*stream)));
    }
  }
  async::Task<void> give_one(std::unique_ptr<Stream> stream) {
    ++streams;
    (void)co_await serve_copy(std::move(stream), provider, reads, timers);
  }

  CopyOrder order() {
    CopyOrder made;
    made.content = provider.model->manifest.content;
    made.folder = here();
    made.sources = [this] { return std::vector{b.id()}; };
    made.open = [this](NodeId node) { return net_a->dial(at_b, {node}, Purpose::copy); };
    made.inspect = [this](std::vector<fs::path> paths) { return inspect(std::move(paths)); };
    made.on_progress = [this](const CopyProgress& now) {
      progress = now;
      if (on_progress) on_progress();
    };
    return made;
  }
  async::Task<Result<>> inspect(std::vector<fs::path> paths) {
    inspected = std::move(paths);
    co_return verdict_of_files;
  }
  async::Task<void> fetch(CopyOrder wanted) { result = co_await fetch_copy(std::move(wanted), files, timers); }

  void start(CopyOrder wanted) {
    group.spawn("give", give());
    fetching.spawn("fetch", fetch(std::move(wanted)));
  }
  // Time passes only when neither the network nor a disk has anything to do.
  bool wait_for_end(Millis step = Millis(20), Millis limit = std::chrono::hours(1)) {
    settle();
    for (Millis gone(0); gone < limit && !result; gone += step) {
      timers.advance(step);
      settle();
    }
    return result.has_value();
  }

  // Says that, and listens to the end.
  async::Task<void> talk(std::string words) {
    auto stream = co_await net_a->dial(at_b, {b.id()}, Purpose::copy);
    EXPECT_TRUE(stream);
    (void)co_await (*stream)->write(words);
    co_await (*stream)->finish();
    std::array<char, 512> space{};
    while (true) {
      const auto got = co_await (*stream)->read_some(space);
      if (!got || *got == 0) break;
    }
  }

  void expect_whole() {
    ASSERT_TRUE(wait_for_end());
    ASSERT_TRUE(*result) << result->error().message;
    ASSERT_EQ((*result)->size(), 2u);
    EXPECT_TRUE(read_file(goal() / "m-00001-of-00002.gguf") == long_text);
    EXPECT_EQ(read_file(goal() / "m-00002-of-00002.gguf"), made_up(kShort, 2));
    run(settled());
    std::size_t entries = 0;
    for (const auto& entry : fs::recursive_directory_iterator(here())) {
      EXPECT_FALSE(entry.path().filename().native().starts_with('.')) << entry.path();
      ++entries;
    }
    EXPECT_EQ(entries, 3u);  // the folder of its own, and two files
  }
  // There is one thread for what is done to a copy.
  async::Task<void> settled() {
    auto work = [] { return true; };
    co_await files.run(std::move(work));
  }
  void expect_nothing_named() {
    for (const auto& entry : fs::directory_iterator(here()))
      EXPECT_TRUE(entry.path().filename().native().starts_with('.')) << entry.path();
  }

  fs::path root;
  std::string long_text;
  async::ThreadPool files{1}, reads{1};
  TestCopyProvider provider;
  async::TaskGroup fetching{loop.executor()};
  std::optional<Result<std::vector<fs::path>>> result;
  std::vector<fs::path> inspected;
  Result<> verdict_of_files;
  CopyProgress progress;
  std::function<void()> on_progress;
  int streams = 0;
};

TEST_P(CopyTest, BringsAllFilesWhole) {
  start(order());
  expect_whole();
  EXPECT_EQ(progress.done, kLong + kShort);
  EXPECT_EQ(progress.total, kLong + kShort);
  EXPECT_EQ(inspected.size(), 2u);
  EXPECT_EQ(streams, 1);
}

TEST_P(CopyTest, GoesOnWithWhatIsThere) {
  // The long file's second range, as an earlier run left it.
  {
    auto partial = PartialModel::open(here(), sign_manifest(b, provider.model->manifest), kGoOn);
    ASSERT_TRUE(partial) << partial.error().message;
    ASSERT_TRUE((*partial)->put({0, 1}, std::string_view(long_text).substr(kRangeBytes, kRangeBytes)));
  }
  EXPECT_EQ(PartialModel::left_over(here(), kGoOn).size(), 1u);
  std::optional<std::uint64_t> first;
  on_progress = [&] { first = first.value_or(progress.done); };
  start(order());
  expect_whole();
  EXPECT_EQ(first, kRangeBytes);
  EXPECT_TRUE(PartialModel::left_over(here(), kGoOn).empty());
}

TEST_P(CopyTest, GoesOnAfterItWasEndedInTheMiddle) {
  start(order());
  ASSERT_TRUE(until([&] { return progress.total > 0; }));
  fetching.cancel();
  settle();
  EXPECT_FALSE(result);
  expect_nothing_named();
  fetching.spawn("fetch", fetch(order()));
  expect_whole();
}

TEST_P(CopyTest, ABrokenConnectionCostsARange) {
  bool cut = false;
  auto wanted = order();
  // The first stream ends as soon as something has come.
  wanted.open = [this, &cut](NodeId node) -> async::Task<Result<std::unique_ptr<Stream>>> {
    auto stream = co_await net_a->dial(at_b, {node}, Purpose::copy);
    if (stream && !std::exchange(cut, true)) {
      Stream* first = stream->get();
      on_progress = [this, first] {
        on_progress = {};
        first->close();
      };
    }
    co_return stream;
  };
  start(std::move(wanted));
  expect_whole();
  EXPECT_TRUE(cut);
  EXPECT_EQ(streams, 2);
}

// It showed the last rate of the node that had left, for as long as no other node had the model.
TEST_P(CopyTest, WhileNoNodeSendsNoRateIsReported) {
  auto wanted = order();
  bool has_source = true;
  Stream* first = nullptr;
  wanted.sources = [this, &has_source] { return has_source ? std::vector{b.id()} : std::vector<NodeId>(); };
  wanted.open = [this, &first](NodeId node) -> async::Task<Result<std::unique_ptr<Stream>>> {
    auto stream = co_await net_a->dial(at_b, {node}, Purpose::copy);
    if (stream) first = stream->get();
    co_return stream;
  };
  std::vector<CopyProgress> reports;
  on_progress = [&] {
    reports.push_back(progress);
    // Each range takes a second. After the first one the source leaves.
    if (reports.size() == 1) timers.advance(Millis(1000));
    if (progress.done == 0 || !std::exchange(has_source, false)) return;
    first->close();
  };
  start(std::move(wanted));
  ASSERT_TRUE(wait_for_end(Millis(2000)));
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().code, errc::unreachable);
  ASSERT_GE(reports.size(), 3u);
  EXPECT_EQ(reports[0].from, b.id());
  EXPECT_GT(reports[1].bytes_per_second, 0);
  EXPECT_EQ(reports.back().bytes_per_second, 0);
  EXPECT_EQ(reports.back().from, std::nullopt);
  EXPECT_LT(reports.back().done, kLong + kShort);
}

TEST_P(CopyTest, AFlippedByteIsFound) {
  auto changed = long_text;
  changed[kRangeBytes + 5] = static_cast<char>(changed[kRangeBytes + 5] ^ 1);
  write_file(there() / "m-00001-of-00002.gguf", changed);
  start(order());
  ASSERT_TRUE(wait_for_end());
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().code, errc::damaged);
  EXPECT_TRUE(result->error().message.contains("bytes 16777216 to 33554432")) << result->error().message;
  expect_nothing_named();
  // Right again: what came before wasn't lost.
  write_file(there() / "m-00001-of-00002.gguf", long_text);
  result.reset();
  fetching.spawn("fetch", fetch(order()));
  expect_whole();
}

TEST_P(CopyTest, NoFileIsReplaced) {
  fs::create_directories(goal());
  write_file(goal() / "m-00002-of-00002.gguf", "mine");
  start(order());
  ASSERT_TRUE(wait_for_end());
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().code, errc::name_taken);
  EXPECT_EQ(read_file(goal() / "m-00002-of-00002.gguf"), "mine");
}

TEST_P(CopyTest, WhatIsntOfferedSaysWhy) {
  auto wanted = order();
  provider.model.reset();
  start(std::move(wanted));
  ASSERT_TRUE(wait_for_end());
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().code, errc::not_offered);
  EXPECT_EQ(result->error().message, "the shelf is empty");
}

TEST_P(CopyTest, WhatTheInspectorRefusesGetsNoName) {
  verdict_of_files = fail(errc::damaged, "no model at all");
  start(order());
  ASSERT_TRUE(wait_for_end());
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().message, "no model at all");
  expect_nothing_named();
}

TEST_P(CopyTest, WithoutSourcesItWaitsForSomeTime) {
  auto wanted = order();
  wanted.sources = [] { return std::vector<NodeId>(); };
  start(std::move(wanted));
  ASSERT_TRUE(wait_for_end(Millis(2000)));
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().code, errc::unreachable);
}

TEST_P(CopyTest, ASourceThatComesBackIsGoneOnWith) {
  auto wanted = order();
  int asked = 0;
  wanted.sources = [this, &asked] { return ++asked < 4 ? std::vector<NodeId>() : std::vector{b.id()}; };
  start(std::move(wanted));
  expect_whole();
}

TEST_P(CopyTest, ASourceThatGivesNothingIsGivenUp) {
  auto wanted = order();
  int tries = 0;
  wanted.open = [&tries](NodeId) -> async::Task<Result<std::unique_ptr<Stream>>> {
    ++tries;
    co_return fail(errc::unreachable, "nobody there");
  };
  start(std::move(wanted));
  ASSERT_TRUE(wait_for_end(Millis(2000)));
  ASSERT_FALSE(*result);
  EXPECT_EQ(tries, CopyRules().max_failures);
}

// The thread of a write goes on when its bytes stop coming: the next try read what was there while that changed it.
TEST_P(CopyTest, AnotherTryWaitsForTheWriteOfTheOneThatStalled) {
  const std::size_t list = 1 + 4 + encode(sign_manifest(b, provider.model->manifest)).size();
  constexpr std::size_t range = 1 + 4 + kRangeBytes;
  StallingStream::Counts counts;
  int opened = 0;
  auto wanted = order();
  wanted.open = [this, &opened, &counts, list](NodeId node) -> async::Task<Result<std::unique_ptr<Stream>>> {
    auto stream = co_await net_a->dial(at_b, {node}, Purpose::copy);
    if (!stream) co_return stream;
    const auto gives = ++opened == 1 ? list + range : list + 3 * range;
    std::unique_ptr<Stream> stalling =
        std::make_unique<StallingStream>(loop.executor(), std::move(*stream), gives, counts);
    co_return std::move(stalling);
  };
  std::latch disk_works(1);
  bool blocked = false;
  on_progress = [this, &disk_works, &blocked] {
    if (!std::exchange(blocked, true)) files.post([&disk_works] { disk_works.wait(); });
  };
  start(std::move(wanted));
  EXPECT_TRUE(until([&] { return counts.stalled; }));
  disks = {&reads};  // time passes while the other one works
  pass(4 * CopyRules().stall, Millis(1000));
  EXPECT_EQ(opened, 1);
  disk_works.count_down();
  disks = {&files, &reads};
  expect_whole();
  EXPECT_EQ(opened, 2);
  // What was written isn't asked for again.
  EXPECT_EQ(counts.given, list + range + list + (1 + 4) * 3 + kLong - kRangeBytes + kShort);
}

// Whatever a peer sends to a source, it ends with an error or a refusal.
TEST_P(CopyTest, NonsenseEndsTheStream) {
  group.spawn("give", give());
  for (const std::string& bytes : {std::string("X"), std::string("R\0\0\0\0\0\0", 7), std::string(100, '\xff')}) {
    run(talk(bytes));
  }
}

CORRAL_ON_BOTH_NETWORKS(CopyTest);

}  // namespace
}  // namespace corral::mesh
