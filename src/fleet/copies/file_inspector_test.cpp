// What is made of the words and the end of the child that looks at files.
#include "fleet/copies/file_inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "fleet/base/errors.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::fleet {
namespace {

using testing::HasSubstr;

class FileInspectorTest : public testing::Test {
 protected:
  using Acting = std::function<void(proc::FakeProcess&)>;
  void child_does(Acting act) {
    spawner_.script = [act = std::move(act)](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      act(*process);
      co_return;
    };
  }
  Result<> inspect() {
    return async::run_blocking(loop_, inspector_.inspect({"/copies/a-00001.gguf", "/copies/a-00002.gguf"}));
  }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  proc::FakeSpawner spawner_{timers_};
  FileInspector inspector_{spawner_, timers_, "/bin/corral"};
};

TEST_F(FileInspectorTest, SoundFilesAreTaken) {
  child_does([](auto& process) {
    process.print("locked");
    process.exit(0);
  });
  EXPECT_TRUE(inspect());
  const auto& spec = spawner_.processes()[0]->spec();
  EXPECT_THAT(spec.argv,
              testing::ElementsAre("/bin/corral", "inspect-model", "/copies/a-00001.gguf", "/copies/a-00002.gguf"));
  EXPECT_TRUE(spec.binds_itself);
}

TEST_F(FileInspectorTest, WhatItRefusesIsToldWithItsReason) {
  child_does([](auto& process) {
    process.print("locked");
    process.print("refused 'a-00001.gguf': it ends too early");
    process.exit(kFilesRefused);
  });
  const auto refused = inspect();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::files_refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'a-00001.gguf': it ends too early"));
}

TEST_F(FileInspectorTest, WhoCrashesIsToldWithTheFiles) {
  child_does([](auto& process) {
    process.print("locked");
    process.die(SIGSEGV);
  });
  const auto refused = inspect();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::files_refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'a-00001.gguf', 'a-00002.gguf'"));
  EXPECT_THAT(refused.error().message, HasSubstr("SIGSEGV"));
}

// A whole copy was thrown away because the system was short of memory, or somebody ended all processes.
TEST_F(FileInspectorTest, WhatOthersDoToTheChildSaysNothingOfTheFiles) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGKILL}) {
    child_does([signal](auto& process) {
      process.print("locked");
      process.die(signal);
    });
    const auto ended = inspect();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, errc::not_inspected) << signal;
  }
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGXCPU}) {
    child_does([signal](auto& process) {
      process.print("locked");
      process.die(signal);
    });
    const auto refused = inspect();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::files_refused) << signal;
  }
}

// One that was broken into may say what it likes; only its end counts, and only once it was locked in.
TEST_F(FileInspectorTest, NobodyIsBelievedWhoWasntLockedIn) {
  child_does([](auto& process) { process.exit(0); });
  auto refused = inspect();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::not_inspected);
  child_does([](auto& process) {
    process.print("trouble the kernel says no");
    process.exit(kCantInspect);
  });
  refused = inspect();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::not_inspected);
  EXPECT_THAT(refused.error().message, HasSubstr("the kernel says no"));
  spawner_.next_failure = Error(make_error_code(proc::errc::spawn_failed), "no more processes");
  refused = inspect();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("no more processes"));
}

TEST_F(FileInspectorTest, WhoTakesTooLongIsEnded) {
  child_does([this](auto& process) {
    process.print("locked");
    async::asio::post(loop_.executor(), [this] { timers_.advance(FileInspector::kLimit); });
  });
  const auto refused = inspect();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::not_inspected);
  EXPECT_THAT(refused.error().message, HasSubstr("120 s"));
  EXPECT_EQ(spawner_.running(), 0u);
}

TEST_F(FileInspectorTest, FencesThatAreMissingAreKnown) {
  child_does([](auto& process) {
    process.print("missing namespaces: unshare: Operation not permitted");
    process.print("locked");
    process.print("missing landlock: a lie");
    process.exit(0);
  });
  const auto found = async::run_blocking(loop_, inspector_.examine());
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->has(proc::Fence::namespaces));
  EXPECT_TRUE(found->has(proc::Fence::landlock));
  EXPECT_EQ(found->missing.at(0).why, "unshare: Operation not permitted");
}

}  // namespace
}  // namespace corral::fleet
