#include "api/files/disk_catalog.h"

#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "async/loop.h"
#include "models/gguf/gguf_test_writer.h"
#include "models/temp_dir_for_tests.h"

namespace corral::api {
namespace {

// Tells the time, and does something else once when it is asked for it on the test's own thread (scans ask, too).
class InterruptedTimers final : public async::Timers {
 public:
  explicit InterruptedTimers(async::Timers& timers) : timers_(timers) {}
  MonoTime now() const override {
    if (std::this_thread::get_id() == home_) {
      if (auto interruption = std::exchange(at_now, {})) interruption();
    }
    return timers_.now();
  }
  WallTime wall_now() const override { return timers_.wall_now(); }
  // Whoever sleeps does so until it is cancelled, or not at all.
  async::Task<void> sleep_until(MonoTime) override {
    async::Event never(co_await async::asio::this_coro::executor);
    if (!impatient) co_await never.wait();
  }

  bool impatient = false;
  mutable std::function<void()> at_now;

 private:
  async::Timers& timers_;
  const std::thread::id home_ = std::this_thread::get_id();
};

class DiskCatalogTest : public testing::Test {
 protected:
  ~DiskCatalogTest() override { threads_.finish(); }

  // What `task` returns, run on a loop of its own.
  template <typename T>
  static T run(async::Task<T> task) {
    async::Loop loop;
    return run_on(loop, std::move(task));
  }
  template <typename T>
  static T run_on(async::Loop& loop, async::Task<T> task) {
    std::optional<T> result;
    async::asio::co_spawn(loop.executor(), std::move(task), [&](const std::exception_ptr&, T value) {
      result = std::move(value);
      loop.stop();
    });
    loop.run();
    return std::move(*result);
  }
  void scan() { run(finder_.fresh_catalog()); }

  models::TempDir dir_;
  async::Loop loop_;
  async::ManualTimers clock_{loop_.executor()};
  InterruptedTimers timers_{clock_};
  models::Registry registry_{{.models_dirs = {dir_.path()}, .hub_cache = {}}};
  async::ThreadPool threads_{1};
  DiskCatalog finder_{registry_, threads_, timers_};
};

// A request could see the catalog as it was before a scan, and then that the scan had just been made.
TEST_F(DiskCatalogTest, AScanThatEndsBetweenTwoLooksIsLookedAt) {
  models::GgufWriter::model("llama").save(dir_ / "a.gguf");
  timers_.at_now = [this] { scan(); };
  EXPECT_TRUE(run(finder_.find("a")));
}

TEST_F(DiskCatalogTest, ANewFileIsFoundOnceTheLastScanIsOld) {
  scan();
  models::GgufWriter::model("llama").save(dir_ / "a.gguf");
  EXPECT_FALSE(run(finder_.find("a")));
  clock_.advance(kRescanInterval);
  EXPECT_TRUE(run(finder_.find("a")));
}

// A disk that hangs kept whoever asked, each on a thread of its own, until no thread was left.
TEST_F(DiskCatalogTest, ADiskThatHangsKeepsNobodyForEver) {
  const auto pipe = dir_ / "user_models.json";  // who reads it waits until somebody writes
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  models::GgufWriter::model("llama").save(dir_ / "a.gguf");
  scan();
  registry_.look_at({.models_dirs = {dir_.path()}, .hub_cache = {}, .user_models = pipe});
  clock_.advance(kRescanInterval);
  timers_.impatient = true;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(run_on(loop_, finder_.find("b")));
  EXPECT_TRUE(run_on(loop_, finder_.find("a")));
  EXPECT_FALSE(run_on(loop_, finder_.catalog())->models().empty());
  const int writer = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);  // waits until the scan is in the file
  EXPECT_FALSE(threads_.finish_within(Millis(0)));
  ::close(writer);
}

}  // namespace
}  // namespace corral::api
