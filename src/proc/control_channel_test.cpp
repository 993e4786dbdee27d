// The control channel, between real processes and within one.
#include <csignal>

#include <sys/socket.h>

#include "async/task_group.h"
#include "proc/process_test_support.h"

namespace corral::proc {
namespace {

using async::Task;

class ControlChannelTest : public RealProcesses {
 protected:
  static ChildSpec with_channel(std::string name) {
    auto spec = mode(std::move(name));
    spec.control_channel = true;
    return spec;
  }
};

TEST_F(ControlChannelTest, LinesGoBothWaysAndClosingEndsTheChild) {
  auto driver = [&]() -> Task<void> {
    const auto child = co_await start(with_channel("echo"));
    for (const std::string& line : {std::string("hello"), std::string(), std::string(500'000, 'x')}) {
      auto copy = line;
      EXPECT_TRUE(co_await child->control()->write_line(std::move(copy)));
      const auto answer = co_await child->control()->read_line();
      EXPECT_TRUE(answer && *answer == "echo " + line);
    }
    child->control()->close();
    EXPECT_EQ(co_await child->wait(), ExitStatus::exited(7));
  };
  async::run_blocking(loop, driver());
}

TEST_F(ControlChannelTest, EndOfTheChildIsTheEndOfTheChannel) {
  auto driver = [&]() -> Task<void> {
    const auto child = co_await start(with_channel("echo"));
    child->kill(SIGKILL);
    const auto line = co_await child->control()->read_line();
    EXPECT_EQ(line.error().code, errc::channel_closed);
    const auto written = co_await child->control()->write_line("late");
    EXPECT_EQ(written.error().code, errc::channel_closed);
  };
  async::run_blocking(loop, driver());
}

TEST_F(ControlChannelTest, ChildLearnsThatItsParentIsGoneWithoutReading) {
  auto driver = [&]() -> Task<void> {
    auto child = co_await start_ready(with_channel("leave-with-parent"));
    EXPECT_TRUE(co_await child->control()->write_line("unread"));
    child->control()->close();
    EXPECT_EQ(co_await child->wait(), ExitStatus::exited(5));
  };
  async::run_blocking(loop, driver());
}

TEST_F(ControlChannelTest, WithoutOneThereIsNone) {
  EXPECT_EQ(run(mode("echo")), ExitStatus::exited(EXIT_FAILURE));
  EXPECT_EQ(ControlChannel::from_environment(loop.executor()), nullptr);
}

TEST(ControlChannel, OverlappingWritersDontMixTheirLines) {
  async::Loop loop;
  auto pair = make_socket_pair();
  ControlChannel one(loop.executor(), std::move(pair->ours)), two(loop.executor(), std::move(pair->theirs));
  async::TaskGroup group(loop.executor());
  std::map<std::string, int> seen;
  auto write = [&](char letter) -> Task<void> {
    for (int i = 0; i < 5; ++i) {
      std::string line(300'000, letter);
      co_await one.write_line(std::move(line));
    }
  };
  auto driver = [&]() -> Task<void> {
    for (const char letter : {'a', 'b', 'c'}) group.spawn("write", write(letter));
    for (int i = 0; i < 15; ++i) {
      auto line = co_await two.read_line();
      ++seen[std::move(*line)];
    }
    co_await group.join();
  };
  async::run_blocking(loop, driver());
  EXPECT_EQ(seen.size(), 3u);
  for (const auto& [line, count] : seen) EXPECT_EQ(count, 5);
}

// A writer that comes when one has just left must not go before those that have been waiting.
TEST(ControlChannel, OverlappingWritersKeepTheirOrder) {
  async::Loop loop;
  auto pair = make_socket_pair();
  ControlChannel one(loop.executor(), std::move(pair->ours)), two(loop.executor(), std::move(pair->theirs));
  async::TaskGroup group(loop.executor());
  constexpr int kLines = 60;
  int next = 0;
  auto write = [&]() -> Task<void> {
    while (next < kLines) {
      // The first ones fill the socket, so that the others have to wait.
      std::string line(next < 3 ? 300'000 : 1, static_cast<char>('!' + next));
      ++next;
      co_await one.write_line(std::move(line));
    }
  };
  auto driver = [&]() -> Task<void> {
    for (int i = 0; i < 6; ++i) group.spawn("write", write());
    for (int i = 0; i < kLines; ++i) {
      const auto line = co_await two.read_line();
      EXPECT_EQ(line->front(), static_cast<char>('!' + i));
    }
    co_await group.join();
  };
  async::run_blocking(loop, driver());
}

TEST(ControlChannel, LinesOfAMebibytePassAndLongerOnesDont) {
  async::Loop loop;
  auto pair = make_socket_pair();
  ControlChannel one(loop.executor(), std::move(pair->ours)), two(loop.executor(), std::move(pair->theirs));
  async::TaskGroup group(loop.executor());
  auto write = [&]() -> Task<void> {
    std::string max(kMaxControlLine, 'x'), too_long(kMaxControlLine + 1, 'x');
    co_await one.write_line(std::move(max));
    const auto refused = co_await one.write_line(std::move(too_long));
    EXPECT_EQ(refused.error().code, errc::line_too_long);
  };
  auto driver = [&]() -> Task<void> {
    group.spawn("write", write());
    const auto line = co_await two.read_line();
    EXPECT_TRUE(line && line->size() == kMaxControlLine);
    co_await group.join();
  };
  async::run_blocking(loop, driver());
}

TEST(ControlChannel, EndlessLineOfThePeerEndsTheChannel) {
  async::Loop loop;
  auto pair = make_socket_pair();
  const UniqueFd rogue = std::move(pair->ours);
  ControlChannel channel(loop.executor(), std::move(pair->theirs));
  std::thread writer([&] {
    const std::string block(65536, 'x');
    while (::send(rogue.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  auto driver = [&]() -> Task<void> {
    auto line = co_await channel.read_line();
    EXPECT_EQ(line.error().code, errc::line_too_long);
    line = co_await channel.read_line();
    EXPECT_EQ(line.error().code, errc::channel_closed);
  };
  async::run_blocking(loop, driver());
  writer.join();
}

TEST(ControlChannel, ClosingEndsThePendingReadAndCancellingItThrows) {
  async::Loop loop;
  auto pair = make_socket_pair();
  ControlChannel one(loop.executor(), std::move(pair->ours)), two(loop.executor(), std::move(pair->theirs));
  async::TaskGroup group(loop.executor());
  int results = 0;
  auto read = [&]() -> Task<void> {
    const auto line = co_await one.read_line();
    EXPECT_EQ(line.error().code, errc::channel_closed);
    ++results;
  };
  auto driver = [&]() -> Task<void> {
    group.spawn("read", read());
    group.cancel();
    co_await group.join();
    EXPECT_EQ(results, 0);
    group.spawn("read", read());
    one.close();
    co_await group.join();
    EXPECT_EQ(results, 1);
    co_await two.until_peer_gone();
  };
  async::run_blocking(loop, driver());
}

}  // namespace
}  // namespace corral::proc
