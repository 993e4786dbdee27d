#include "api/model_finder.h"

#include <functional>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "async/loop.h"
#include "models/gguf_test_writer.h"
#include "models/temp_dir_for_tests.h"

namespace corral::api {
namespace {

// Tells the time, and does something else once when it is asked for it.
class InterruptedTimers final : public async::Timers {
 public:
  explicit InterruptedTimers(async::Timers& timers) : timers_(timers) {}
  MonoTime now() const override {
    if (auto interruption = std::exchange(at_now, {})) interruption();
    return timers_.now();
  }
  WallTime wall_now() const override { return timers_.wall_now(); }
  async::Task<void> sleep_until(MonoTime when) override { return timers_.sleep_until(when); }

  mutable std::function<void()> at_now;

 private:
  async::Timers& timers_;
};

class ModelFinderTest : public testing::Test {
 protected:
  ~ModelFinderTest() override { threads_.finish(); }

  // What `task` returns, run on a loop of its own.
  template <typename T>
  static T run(async::Task<T> task) {
    async::Loop loop;
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
  ModelFinder finder_{registry_, threads_, timers_};
};

// A request could see the catalog as it was before a scan, and then that the scan had just been made.
TEST_F(ModelFinderTest, AScanThatEndsBetweenTwoLooksIsLookedAt) {
  models::GgufWriter::model("llama").save(dir_ / "a.gguf");
  timers_.at_now = [this] { scan(); };
  EXPECT_TRUE(run(finder_.find("a")));
}

TEST_F(ModelFinderTest, ANewFileIsFoundOnceTheLastScanIsOld) {
  scan();
  models::GgufWriter::model("llama").save(dir_ / "a.gguf");
  EXPECT_FALSE(run(finder_.find("a")));
  clock_.advance(kRescanInterval);
  EXPECT_TRUE(run(finder_.find("a")));
}

}  // namespace
}  // namespace corral::api
