#include "proc/posix_spawner.h"

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/system/system_error.hpp>
#include <pthread.h>

#include "proc/launch.h"
#include "proc/posix_child.h"

namespace corral::proc {

using async::Task;

namespace {

using Descriptor = async::asio::posix::basic_stream_descriptor<async::Executor>;

Task<Result<Launched>> launch_here(ChildSpec spec, std::filesystem::path own_program) {
  co_return launch(spec, own_program);
}

struct Started {
  pid_t pid = 0;  // of the program; 0: there is none
  int cause = 0;  // the errno with which exec failed; 0: the program runs
};

// What a guardian says about its program.
Task<Started> exec_result(UniqueFd status) {
  Descriptor pipe(co_await async::asio::this_coro::executor, status.release());
  Started started;
  for (int* next : {&started.pid, &started.cause}) {
    const auto [error] = co_await pipe.async_wait(Descriptor::wait_read, async::as_value);
    if (error) throw boost::system::system_error(error);
    // Each number is written at once; the end comes instead of the second one.
    if (::read(pipe.native_handle(), next, sizeof *next) != sizeof *next) break;
  }
  co_return started;
}

}  // namespace

PosixSpawner::PosixSpawner(async::Timers& timers, Options options)
    : timers_(timers), options_(std::move(options)), thread_([this] {
        ::pthread_setname_np(::pthread_self(), "spawner");
        loop_.run();
      }) {}

PosixSpawner::~PosixSpawner() {
  // As a task of the loop: a plain stop() is lost if the thread hasn't entered run() yet.
  loop_.post([this] { loop_.stop(); });
  thread_.join();
}

Task<Result<std::unique_ptr<Child>>> PosixSpawner::spawn(ChildSpec spec) {
  const auto executor = co_await async::asio::this_coro::executor;
  ChildSpec for_thread = spec;
  for_thread.on_line = nullptr;  // the data of the hook belongs to the caller's loop
  auto job = launch_here(std::move(for_thread), options_.own_program);
  auto launched = co_await async::run_on(loop_.executor(), std::move(job));
  if (!launched) co_return std::unexpected(std::move(launched.error()));
  if (launched->exec_status) {
    auto answer = exec_result(std::move(launched->exec_status));
    const auto started = co_await std::move(answer);
    if (started.cause != 0) co_return std::unexpected(exec_error(spec, started.cause));
    if (started.pid != 0) launched->process.set_program(started.pid);
  }
  co_return std::make_unique<PosixChild>(executor, timers_, spec, std::move(*launched));
}

}  // namespace corral::proc
