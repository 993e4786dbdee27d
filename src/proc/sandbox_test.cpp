// What a process that is locked in can't do any more, tried by one.
#include "proc/sandbox.h"

#include <csignal>
#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "proc/process_test_support.h"

namespace corral::proc {
namespace {

using testing::HasSubstr;
using testing::Not;

class SandboxTest : public RealProcesses {
 protected:
  SandboxTest() {
    std::ofstream(path_) << "text";
    std::ofstream(path_ + ".other") << "text";
    listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
    std::filesystem::create_directory(path_ + ".folder");
    sockaddr_un own = {};
    own.sun_family = AF_UNIX;
    (path_ + ".socket").copy(own.sun_path, sizeof own.sun_path - 1);
    EXPECT_EQ(::bind(datagrams_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  }
  ~SandboxTest() override {
    std::filesystem::remove_all(path_ + ".folder");
    std::filesystem::remove(path_ + ".socket");
    for (const auto* end : {"", ".other", ".new"}) std::filesystem::remove(path_ + end);
  }
  ExitStatus lock_in(const std::string& work) {
    return run(mode("locked-in", work + " " + path_ + " " + std::to_string(port_)));
  }
  void expect_none(std::initializer_list<const char*> things) {
    for (const auto* thing : things) EXPECT_THAT(output, HasSubstr(std::string(thing) + ": no (")) << thing;
  }
  void expect_plain_files_only() {
    EXPECT_THAT(output, HasSubstr("make a file where it may: yes"));
    EXPECT_THAT(output, HasSubstr("remove what it made: yes"));
    expect_none({"make it as large as it likes", "take the disk without writing", "make a folder", "make a link",
                 "make a pipe", "pair sockets of datagrams", "pair sockets of streams", "send to a socket of another"});
  }
  // This machine, or where the tests run, may lack some.
  bool stands(Fence fence) const { return !output.contains("missing " + std::string(name_of(fence))); }

  const std::string path_ = testing::TempDir() + "sandbox-" + std::to_string(::getpid());
  UniqueFd listener_;
  const UniqueFd datagrams_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
};

TEST_F(SandboxTest, WhoReadsCanDoNothingElse) {
  EXPECT_EQ(lock_in("reading"), ExitStatus::exited(0)) << output;
  EXPECT_THAT(output, HasSubstr("read what was open: yes"));
  expect_none({"open what is named", "open another file", "make a file", "connect", "talk to itself", "fork",
               "start a program", "become a program", "start a thread", "kill its parent", "trace its parent",
               "have much memory", "run what it wrote", "mount", "send to a socket of another"});
  EXPECT_TRUE(stands(Fence::limits) && stands(Fence::calls)) << output;
}

TEST_F(SandboxTest, WhoServesHasThreadsAndWhatIsNamedAndNothingElse) {
  EXPECT_EQ(lock_in("serving"), ExitStatus::exited(7)) << output;
  EXPECT_THAT(output, HasSubstr("open what is named: yes"));
  EXPECT_THAT(output, HasSubstr("start a thread: yes"));
  expect_none({"connect", "talk to itself", "fork", "start a program", "become a program", "kill its parent",
               "trace its parent", "have much memory", "run what it wrote", "mount"});
  expect_plain_files_only();
  if (stands(Fence::root)) expect_none({"see what isn't named"});
  if (!stands(Fence::landlock)) GTEST_SKIP() << "no Landlock here: " << output;
  expect_none({"open another file", "make a file"});
}

// Its loopback isn't ours: it reaches nobody here, and nobody here reaches it.
TEST_F(SandboxTest, WhoTalksReachesNobodyButItself) {
  const auto ended = lock_in("talking");
  if (output.contains("does not permit the sandbox")) GTEST_SKIP() << "no namespaces here: " << output;
  EXPECT_EQ(ended, ExitStatus::exited(7)) << output;
  EXPECT_THAT(output, HasSubstr("talk to itself: yes"));
  EXPECT_TRUE(stands(Fence::root)) << output;
  expect_none({"connect", "use other protocols", "make a Unix socket", "see what isn't named", "fork",
               "start a program", "become a program", "kill its parent", "trace its parent", "have much memory",
               "run what it wrote", "mount"});
  EXPECT_TRUE(stands(Fence::namespaces) && stands(Fence::processes)) << output;
  expect_plain_files_only();
}

// Who kills it and goes on would count its memory as free, though the kernel still gives it back.
TEST_F(SandboxTest, WhenItHasEndedItsMemoryIsFree) {
  auto work = [this]() -> async::Task<void> {
    auto spec = mode("locked-in-and-large", std::to_string(256ull << 20));
    const auto child = co_await start_ready(std::move(spec));
    if (child->log().text() == "missing") co_return;
    const auto shadow = std::to_string(child->pid());
    pid_t inner = 0;
    std::ifstream("/proc/" + shadow + "/task/" + shadow + "/children") >> inner;
    const UniqueFd inside(pidfd_of(inner));
    EXPECT_TRUE(inside);
    child->kill(SIGTERM);
    const auto status = co_await child->wait();
    EXPECT_EQ(status, ExitStatus::killed(SIGKILL));
    pollfd gone = {inside.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&gone, 1, 0), 1) << "it still gives its memory back";
  };
  async::run_blocking(loop, work());
}

TEST_F(SandboxTest, ThreadsAreBounded) {
  run(mode("locked-in-and-many", "64"));
  if (output == "missing") GTEST_SKIP() << "no namespaces here";
  utsname name{};
  int first = 0, second = 0;
  ::uname(&name);
  std::sscanf(name.release, "%d.%d", &first, &second);
  const bool numbers_apart =
      std::pair(first, second) >= std::pair(6, 14) && ::access("/proc/sys/kernel/pid_max", W_OK) == 0;
  const bool counts_apart = std::pair(first, second) >= std::pair(5, 14) && ::getuid() != 0;
  if (!numbers_apart && !counts_apart) GTEST_SKIP() << "this kernel doesn't bound them";
  const int started = std::stoi(output);
  EXPECT_GE(started, 60);
  EXPECT_LE(started, 64 + 300);
}

TEST_F(SandboxTest, WhereTheKernelHasThemAllFencesStand) {
  ASSERT_EQ(lock_in("reading"), ExitStatus::exited(0)) << output;
  if (!stands(Fence::namespaces)) GTEST_SKIP() << "no namespaces here: " << output;
  EXPECT_TRUE(stands(Fence::root)) << output;
  EXPECT_THAT(output, HasSubstr("missing processes: not asked for"));
  ASSERT_EQ(lock_in("serving"), ExitStatus::exited(7)) << output;
  EXPECT_TRUE(stands(Fence::processes)) << output;
  EXPECT_TRUE(stands(Fence::root)) << output;
}

TEST_F(SandboxTest, WhoComputesForEverOrBreaksEnds) {
  EXPECT_EQ(run(mode("locked-in-and-bad", "compute")), ExitStatus::killed(SIGXCPU)) << output;
  EXPECT_EQ(run(mode("locked-in-and-bad", "abort")), ExitStatus::killed(SIGABRT)) << output;
  EXPECT_EQ(run(mode("locked-in-and-bad", "crash")), ExitStatus::killed(SIGSEGV)) << output;
}

}  // namespace
}  // namespace corral::proc
