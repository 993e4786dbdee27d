// Runs the groups of this node by carrying out the effects of mesh::Groups. It sends messages over links, and records
// the use of this node's memory on the disk. GroupProcesses starts and ends workers and engines. An engine's tunnels
// open before its start and close after its end.
//
// On the mesh's loop, which never blocks: slow work runs in tasks, and a disk that hangs only prevents grants to other
// nodes.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/task.h"
#include "async/timer.h"
#include "fleet/hosting/group_processes.h"
#include "mesh/groups/groups.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// The current time by CLOCK_BOOTTIME.
mesh::BootTime boot_now();

Result<> write_safely(const std::filesystem::path& file, std::string_view text);

// The local end of a tunnel to a worker, which an engine here connects to. Dropping `keeps` closes it.
struct OpenTunnel {
  std::string endpoint;  // "127.0.0.1:P"
  std::shared_ptr<void> keeps;
  std::shared_ptr<const std::atomic<bool>> broken = {};  // see EnginePart
};

// All of it outlives the runner. The functions are called on the mesh's loop.
struct GroupParts {
  async::Executor executor;
  async::Timers& timers;
  mesh::Peers& peers;
  GroupProcesses& processes;
  // Opens a tunnel to the worker that `node` runs for this plan. Errors: that node's reason as text.
  std::function<async::Task<Result<OpenTunnel>>(mesh::NodeId node, mesh::ContentKey model, mesh::PlanTerm of)>
      open_tunnel;
  std::filesystem::path folder;  // of the mesh: records the last host that used this node's memory
  async::ThreadPool& disk;       // only for files of that folder: it may hang
  std::function<std::string(const mesh::NodeId&)> node_name;
  std::function<std::string(const mesh::NodeId&)> llama_of;  // its version; empty: unknown
  std::function<std::string(const mesh::ContentKey&)>
      own_name;  // of a model on this node's disk; empty: not on this disk
  std::function<std::string(const mesh::ContentKey&)> model_name;  // for display, also of models at other nodes only
  std::function<mesh::BootTime()> now = boot_now;
  // Writes a small file that survives a power loss; on the thread.
  std::function<Result<>(const std::filesystem::path&, std::string_view text)> write = write_safely;
  std::uint64_t seed = 0;  // for back-offs
};

class GroupRunner {
 public:
  // Reads a small file.
  explicit GroupRunner(GroupParts parts);
  // After stop().
  ~GroupRunner();
  GroupRunner(const GroupRunner&) = delete;
  GroupRunner& operator=(const GroupRunner&) = delete;

  void start();
  // Starts nothing new. Hosted groups end after their requests, and hosts that use this node's memory are asked to
  // release it, within that time.
  void wind_down(Millis within);
  // Ends everything: waits until the time of wind_down() is over, then stops the rest. Nothing is left when it returns.
  async::Task<void> stop();

  // Hosts a model. False: nothing changes (mesh::Groups::want). `by_hand`: a user of this node ordered it, so it counts
  // as the owner's. An existing group gets this mark, too.
  bool want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand = false);
  void end(const mesh::ContentKey& model);
  // Sets the memory that other hosts may use. 0 until the first call.
  void lend(std::uint64_t bytes);

  // Recalls the memory that another host uses, as its owner would; other hosts may get it then.
  void take_back();

  // A model that this node hosts, or tries to start.
  struct Hosted {
    mesh::GroupPlan plan;
    mesh::PlanTerm of;
    std::string name;  // on this node's disk; empty: no longer on it
    mesh::GroupHost::State state{};
    bool running = false;                 // its engine has loaded and serves requests
    bool under_way = false;               // a step is in progress that may complete the group
    std::optional<double> load_progress;  // while the engine loads
    std::string refusal;                  // why it doesn't serve: the node that refused, and its reason
    std::optional<MonoTime> wrong_since;  // time of the first failure since it last served
    bool by_hand = false;
  };
  // The use of this node's memory by another host; this node's own plans aren't included.
  struct Shared {
    mesh::NodeId host;
    mesh::ContentKey model;
    mesh::PlanTerm of;
    std::string model_name;
    std::uint64_t bytes = 0;
    bool ready = false;    // its worker runs
    bool reaping = false;  // its worker is being ended
    std::string problem;   // the last failure of the worker; empty: none
  };
  std::vector<Hosted> hosted() const;  // sorted by model
  std::optional<Shared> shared() const;
  // This node's owner has recalled the memory, now or shortly before.
  bool recalled() const;
  // Nodes of a hosted plan that count as ended.
  std::vector<mesh::NodeId> lost(const mesh::ContentKey& model) const;
  // All nodes that count as ended: their process is known to have ended, or they have been silent for long.
  std::vector<mesh::NodeId> lost() const;
  // A problem that prevents grants of this node's memory; empty: none.
  const std::string& problem() const;
  // A result of these methods has changed.
  void on_change(std::function<void()> changed);

  // For TunnelAcceptor: the socket of this node's worker for the host and plan. Waits for a starting worker, 15 s at
  // most; restarts one that has ended. Errors: nowhere, or the last failure of the worker.
  async::Task<Result<std::string>> worker_for(mesh::NodeId host, mesh::ContentKey model, mesh::PlanTerm of);
  // Receives reports of GroupProcesses.
  GroupReports& reports();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::fleet
