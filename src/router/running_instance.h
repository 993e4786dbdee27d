// What the shell keeps of one server of the decision core. Lives on the home loop; leases only hold it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/task_group.h"
#include "backends/wrapped_server.h"
#include "residency/types.h"
#include "router/group_load.h"
#include "router/option_patch.h"
#include "router/upstream.h"
#include "router/watchdog.h"

namespace corral::router {

// What the router adds to what the core knows of a model. Every spec the router gives to the core is one of these.
struct LoadSpec : residency::ModelSpec {
  backends::ModelPtr model;
  backends::LoadOptions load_options;  // resolved
  OptionPatch requested;               // what the load itself said
  backends::Backend* backend = nullptr;
  // Of a group's load.
  std::shared_ptr<backends::Backend> own_backend = {};  // `backend`, which is of this load alone
  std::optional<ShareOf> share_of = {};
  std::function<bool()> others_ended_it = {};
  std::function<void()> recalled = {};

  static const LoadSpec& of(const residency::SpecPtr& spec) { return static_cast<const LoadSpec&>(*spec); }
};

struct RunningInstance final : Upstream, std::enable_shared_from_this<RunningInstance> {
  // Wherever its last owner lets go of it (a lease on another loop, say), it ends on the home loop.
  static std::shared_ptr<RunningInstance> make(residency::InstanceId server, residency::SpecPtr of,
                                               async::Executor home);

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
  // Tokens that a conversation may have, once it is ready; 0: not known. Set before the first lease.
  std::uint64_t context_window = 0;
  double progress = 0;  // of the load, 0..1
  bool loading = true;
  bool stopping = false;         // told to stop or to give up its load: its end is no crash
  std::atomic<int> streams = 0;  // leases whose answers stream
  std::string end;               // how the process ended, once it has
  std::size_t ended_under = 0;   // requests, if nobody told it to, and one of them may be why
  std::shared_ptr<const backends::LastWork> last_work = {};
  bool answered = false;  // a request
  std::string hung;       // why the watchdog killed it, if it did
  std::optional<Watchdog> watchdog = {};
  async::TaskGroup tasks;     // its load, then its watch
  async::TaskGroup watching;  // the watchdog
  async::Event gone;

 private:
  RunningInstance(residency::InstanceId server_id, residency::SpecPtr of, async::Executor executor)
      : id(server_id), spec(std::move(of)), home(executor), tasks(executor), watching(executor), gone(executor) {}
};

}  // namespace corral::router
