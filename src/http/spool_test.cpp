// Files are written on threads, never on the loop of a request.
#include "http/spool.h"

#include <future>

#include <gtest/gtest.h>
#include <unistd.h>

#include "async/loop.h"
#include "async/spawned_task.h"
#include "async/timer.h"

namespace corral::http {
namespace {

class SpoolTest : public testing::Test {
 protected:
  static std::string bytes_of(const Spool& spool) {
    const auto file = spool.file();
    std::string bytes(spool.size(), '\0');
    const auto count = ::pread((*file)->get(), bytes.data(), bytes.size(), 0);
    EXPECT_EQ(count, static_cast<ssize_t>(bytes.size()));
    return bytes;
  }

  async::Loop loop;
  async::ThreadPool threads{1};
  SpoolRoom room{testing::TempDir(), 0, &threads};
};

TEST_F(SpoolTest, BytesThatReplaceTheFirstOnesAreWrittenOnAThread) {
  const auto spool = std::make_shared<Spool>(room);
  const std::string bytes(3 * Spool::kBlock, 'x');
  // Only the last block and the first bytes are left to write.
  ASSERT_TRUE(async::run_blocking(loop, [](Spool& to, const std::string& text) -> async::Task<Result<>> {
    co_return co_await to.append(text);
  }(*spool, bytes)));

  // The thread waits in front of the last block and behind it: nothing that the loop asks for later comes between.
  std::promise<void> begin, came, leave;
  threads.post([&] { begin.get_future().wait(); });
  async::SpawnedTask<Result<>> finishing(loop.executor(), "finish", spool->finish("head"));
  loop.context().poll();  // the last block is on its way to the thread
  threads.post([&] {
    came.set_value();
    leave.get_future().wait();
  });
  begin.set_value();
  came.get_future().wait();  // it is written
  loop.context().poll();
  async::ManualTimers timers{loop.executor()};
  std::string on_disk(4, '\0');
  EXPECT_EQ(::pread((*spool->file())->get(), on_disk.data(), on_disk.size(), 0), 4);
  EXPECT_EQ(on_disk, "xxxx") << "the loop wrote them";
  leave.set_value();
  const auto finished = async::run_blocking(loop, [](auto& task, auto& clock) -> async::Task<bool> {
    co_return co_await task.wait(clock, Millis(1000));
  }(finishing, timers));
  EXPECT_TRUE(finished);
  EXPECT_TRUE(finishing.take());
  EXPECT_EQ(bytes_of(*spool), "head" + bytes.substr(4));
  EXPECT_EQ(spool->head().substr(0, 5), "headx");
}

}  // namespace
}  // namespace corral::http
