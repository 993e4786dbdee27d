#include "config/files/state_lock.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/log.h"
#include "config/home_for_tests.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

class StateLockTest : public HomeForTests {
 protected:
  StateLockTest() {
    fs::create_directories(folder_);
    log::set_level(log::Level::none);
  }
  ~StateLockTest() override { log::set_level(log::Level::info); }

  const fs::path folder_ = home_ / "state";
};

// Two servers with one folder wrote over each other's files.
TEST_F(StateLockTest, ASecondServerIsRefusedAndLearnsWhichOneHasTheFolder) {
  {
    const auto first = StateLock::take(folder_, Millis(0));
    ASSERT_TRUE(first) << first.error().message;
    const auto busy = StateLock::take(folder_, Millis(0));
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, std::errc::device_or_resource_busy);
    EXPECT_EQ(busy.error().message, "state_dir '" + folder_.native() + "' is in use by another server, process " +
                                        std::to_string(::getpid()) +
                                        ": stop that server, or set another folder with --state-dir");
    first->publish("::1", 8123);
    EXPECT_EQ(StateLock::take(folder_, Millis(0)).error().message,
              "state_dir '" + folder_.native() + "' is in use by another server, process " +
                  std::to_string(::getpid()) +
                  ", which listens on ::1 port 8123: stop that server, or set another folder with --state-dir");
  }
  EXPECT_TRUE(StateLock::take(folder_, Millis(0))) << "the lock ends with its owner";
}

TEST_F(StateLockTest, TheRunningServerIsFoundAndNoOtherOne) {
  EXPECT_FALSE(running_server(folder_));
  EXPECT_FALSE(running_server(folder_ / "none"));
  {
    const auto lock = StateLock::take(folder_, Millis(0));
    ASSERT_TRUE(lock);
    ASSERT_TRUE(running_server(folder_));
    EXPECT_EQ(running_server(folder_)->port, 0);
    lock->publish("localhost", 8000);
    lock->publish("0.0.0.0", 80);
    const auto running = running_server(folder_);
    ASSERT_TRUE(running);
    EXPECT_EQ(running->process, ::getpid());
    EXPECT_EQ(running->host, "0.0.0.0");
    EXPECT_EQ(running->port, 80);
  }
  EXPECT_FALSE(running_server(folder_)) << "the file stays, its server is gone";
}

TEST_F(StateLockTest, AServerThatIsAboutToEndIsWaitedFor) {
  auto first = StateLock::take(folder_, Millis(0));
  ASSERT_TRUE(first);
  int pauses = 0;
  const auto pause = [&] {
    if (++pauses == 2) first = StateLock::take(folder_ / "none", Millis(0));  // which releases the lock
  };
  EXPECT_TRUE(StateLock::take(folder_, std::chrono::hours(1), pause));
  EXPECT_EQ(pauses, 2);
}

// A folder in a network file system, or one that a container shares.
TEST_F(StateLockTest, AServerOfAnotherMachineIsNotAtThisMachinesAddress) {
  const auto lock = StateLock::take(folder_, Millis(0));
  ASSERT_TRUE(lock);
  std::ofstream(folder_ / "server.lock") << R"({"machine":"other.1","process":7,"host":"127.0.0.1","port":8000})";
  EXPECT_FALSE(running_server(folder_));
  EXPECT_EQ(StateLock::take(folder_, Millis(0)).error().message,
            "state_dir '" + folder_.native() +
                "' is in use by another server, process 7 on another machine or in a container, which listens on "
                "127.0.0.1 port 8000: stop that server, or set another folder with --state-dir");
}

TEST_F(StateLockTest, AnyTextInTheFileIsHarmless) {
  for (const auto* text : {"", "{", "[]", R"({"process":-1,"port":1e30,"host":7})", R"({"port":65536})"}) {
    const auto lock = StateLock::take(folder_, Millis(0));
    ASSERT_TRUE(lock);
    std::ofstream(folder_ / "server.lock") << text;
    const auto running = running_server(folder_);
    ASSERT_TRUE(running) << text;
    EXPECT_EQ(running->port, 0) << text;
    EXPECT_EQ(running->process, 0) << text;
  }
}

TEST_F(StateLockTest, AFolderThatCannotBeLockedIsUsedWithoutALock) {
  const auto lock = StateLock::take(folder_ / "none", Millis(0));
  ASSERT_TRUE(lock);
  lock->publish("localhost", 8000);
  EXPECT_FALSE(running_server(folder_ / "none"));
}

}  // namespace
}  // namespace corral::config
