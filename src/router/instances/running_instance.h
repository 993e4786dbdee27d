// The process side of an instance of the residency core. Owned by the home loop and by leases.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/task_group.h"
#include "backends/wrapped_server.h"
#include "router/base/upstream.h"
#include "router/instances/watchdog.h"
#include "router/options/load_spec.h"

namespace corral::router {

struct RunningInstance final : Upstream, std::enable_shared_from_this<RunningInstance> {
  // Its destruction runs on the home loop, even if a lease on another loop is its last owner.
  static std::shared_ptr<RunningInstance> make(residency::InstanceId id, residency::SpecPtr of, async::Executor home);

  http::Target& target(async::Executor executor) override { return server->target(executor); }
  std::uint64_t context() const override { return context_window; }
  async::Task<UpstreamExit> wait_for_exit() override;
  void stream_began() override { ++streams; }
  void stream_ended() override { --streams; }

  const residency::InstanceId id;
  const residency::SpecPtr spec;
  const async::Executor home;
  std::unique_ptr<backends::WrappedServer> server;
  OptionPatch requested;  // by the latest load of it
  // Tokens of one conversation, once it is ready; 0: unknown. Set before the first lease.
  std::uint64_t context_window = 0;
  double progress = 0;  // of the load, 0..1
  bool loading = true;
  bool stopping = false;         // its stop or abort was ordered: its end is no crash
  std::atomic<int> streams = 0;  // leases whose answers stream
  std::string stop_cause;        // why its group stops it; empty: it doesn't, or gave no cause
  std::string end;               // how the process ended, once it has
  std::size_t ended_under = 0;   // requests at an unexpected end that one of them may have caused
  std::shared_ptr<const backends::LastWork> last_work = {};
  bool answered = false;  // at least one request
  std::string hung;       // why the watchdog killed it, if it did
  std::optional<Watchdog> watchdog = {};
  async::TaskGroup tasks;     // its load, then the wait for its end
  async::TaskGroup watching;  // the watchdog
  async::Event gone;

 private:
  RunningInstance(residency::InstanceId its_id, residency::SpecPtr of, async::Executor executor)
      : id(its_id), spec(std::move(of)), home(executor), tasks(executor), watching(executor), gone(executor) {}
};

}  // namespace corral::router
