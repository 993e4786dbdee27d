#include "fleet/base/kept_file.h"

#include <future>
#include <stdexcept>

#include <gmock/gmock.h>

#include "async/loop.h"

namespace corral::fleet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class KeptFileTest : public testing::Test {
 protected:
  ~KeptFileTest() override {
    let_go();
    async::run_blocking(loop_, file_.stop());
    disk_.finish();
  }
  // The thread of the disk does nothing until let_go().
  void hang() {
    hangs_ = true;
    disk_.post([waits = hung_.get_future()] { waits.wait(); });
  }
  void let_go() {
    if (std::exchange(hangs_, false)) hung_.set_value();
  }
  void write(const std::string& text) {
    file_.write(text, [this, text](const Result<>& written) {
      results_.push_back(text + (written ? "" : ": " + written.error().message));
    });
  }
  void poll() {
    loop_.context().restart();
    loop_.context().poll();
  }
  bool finish() { return async::run_blocking(loop_, file_.finish(1min)); }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  async::ThreadPool disk_{1};
  std::promise<void> hung_;
  bool hangs_ = false;
  std::vector<std::string> written_, results_;
  std::string fails_;
  KeptFile file_{loop_.executor(), timers_, disk_, "/somewhere/file",
                 [this](const std::filesystem::path& file, std::string_view text) -> Result<> {
                   if (text == "a throw") throw std::runtime_error("something odd");
                   if (!fails_.empty()) return fail(std::errc::no_space_on_device, fails_);
                   written_.push_back(file.native() + ": " + std::string(text));
                   return {};
                 }};
};

TEST_F(KeptFileTest, WritesBesideTheLoopAndTheLastOfManyOnce) {
  hang();
  write("one");
  poll();
  for (const auto* text : {"two", "three", "four"}) write(text);
  poll();
  EXPECT_THAT(results_, IsEmpty());
  EXPECT_TRUE(file_.waiting_since());
  let_go();
  EXPECT_TRUE(finish());
  EXPECT_THAT(written_, ElementsAre("/somewhere/file: one", "/somewhere/file: four"));
  EXPECT_THAT(results_, ElementsAre("one", "two", "three", "four"));
  EXPECT_FALSE(file_.waiting_since());
}

TEST_F(KeptFileTest, TellsWhatADiskRefusesAndGoesOn) {
  fails_ = "full";
  write("one");
  EXPECT_TRUE(finish());
  fails_.clear();
  write("a throw");
  EXPECT_TRUE(finish());
  write("two");
  EXPECT_TRUE(finish());
  EXPECT_THAT(results_, ElementsAre("one: full", "a throw: something odd", "two"));
  EXPECT_THAT(written_, ElementsAre("/somewhere/file: two"));
}

TEST_F(KeptFileTest, ItsEndWaitsForADiskButNotForEver) {
  hang();
  write("one");
  poll();
  bool done = false, in_time = true;
  async::asio::co_spawn(loop_.executor(), file_.finish(3s), [&](const std::exception_ptr&, bool result) {
    done = true;
    in_time = result;
  });
  poll();
  EXPECT_FALSE(done);
  timers_.advance(3s);
  poll();
  EXPECT_TRUE(done);
  EXPECT_FALSE(in_time);
  EXPECT_THAT(results_, IsEmpty());
}

}  // namespace
}  // namespace corral::fleet
