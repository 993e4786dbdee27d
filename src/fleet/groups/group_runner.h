// Runs the groups of this node: what mesh::Groups decides is carried out here. Messages go over links, this node's
// memory is remembered on the disk, workers and engines are begun and ended by GroupProcesses, and an engine's tunnels
// are open before it starts and closed when it has ended.
//
// On the mesh's loop. Nothing waits for it: what takes long runs beside, and a disk that hangs costs grants to others
// and nothing else.
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

// Now, by CLOCK_BOOTTIME.
mesh::BootTime boot_now();

Result<> write_safely(const std::filesystem::path& file, std::string_view text);

// The end of a tunnel to a worker that an engine here dials. Dropping `keeps` closes it.
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
  GroupProcesses& hands;
  // Opens one to the worker that `node` runs for this plan. Errors: in words of what is wrong there.
  std::function<async::Task<Result<OpenTunnel>>(mesh::NodeId node, mesh::ContentKey model, mesh::PlanTerm of)>
      open_tunnel;
  std::filesystem::path folder;  // of the mesh: who had this node's memory last
  async::ThreadPool& disk;       // for files of that folder alone: it may hang
  std::function<std::string(const mesh::NodeId&)> node_name;
  std::function<std::string(const mesh::NodeId&)> llama_of;        // its version; empty: not known
  std::function<std::string(const mesh::ContentKey&)> own_name;    // of a model on this node's disk; empty: it isn't
  std::function<std::string(const mesh::ContentKey&)> model_name;  // for people, whoever has it
  std::function<mesh::BootTime()> now = boot_now;
  // Writes a small file so that it outlives a power loss; on the thread.
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
  // Nothing new begins. What is hosted ends once its requests have, and who uses this node's memory is told to give it
  // back, within that time.
  void wind_down(Millis within);
  // Ends all of it: waits for what winds down, as long as that was given, then cuts it. Nothing is left when it
  // returns.
  async::Task<void> stop();

  // This node is to host a model. False: nothing changes (mesh::Groups::want). `by_hand`: somebody here said so, and
  // it counts as the owner's; that is remembered also of a group that stands already.
  bool want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand = false);
  void end(const mesh::ContentKey& model);
  // What hosts elsewhere may have of this node's memory. 0 until then.
  void lend(std::uint64_t bytes);

  // What another host has of this node's memory is given back, as if its owner wanted it; others may have it then.
  void take_back();

  // A model that this node hosts, or tries to.
  struct Hosted {
    mesh::GroupPlan plan;
    mesh::PlanTerm of;
    std::string name;  // on this node's disk; empty: it isn't there any more
    mesh::GroupHost::State state{};
    bool running = false;                 // its engine has loaded, and takes requests
    bool under_way = false;               // something goes on that may make it stand
    std::optional<double> load_progress;  // while the engine loads
    std::string refusal;                  // why it doesn't stand: who said no and why, in words
    std::optional<MonoTime> wrong_since;  // that something went wrong, since it ran last
    bool by_hand = false;
  };
  // The one that has this node's memory; of this node's own plans it isn't told.
  struct Shared {
    mesh::NodeId host;
    mesh::ContentKey model;
    mesh::PlanTerm of;
    std::string model_name;
    std::uint64_t bytes = 0;
    bool ready = false;    // its worker runs
    bool reaping = false;  // ... is being ended
    std::string problem;   // what became of the worker last; empty: nothing is wrong
  };
  std::vector<Hosted> hosted() const;  // sorted by model
  std::optional<Shared> shared() const;
  // This node's owner wants the memory back, or did so lately.
  bool recalled() const;
  // Nodes of a hosted plan that are gone for good.
  std::vector<mesh::NodeId> lost(const mesh::ContentKey& model) const;
  // All nodes that are: their process is known to have ended, or nothing was heard of them for long.
  std::vector<mesh::NodeId> lost() const;
  // What is wrong with this node as one that lends; empty: nothing.
  const std::string& problem() const;
  // What any of these say has changed.
  void on_change(std::function<void()> changed);

  // For the door of tunnels: the socket of the worker that runs here for that host and plan. Waits for one that is just
  // starting, 15 s at most; one that has ended is started again. Errors: no_mesh, what became of the worker.
  async::Task<Result<std::string>> worker_for(mesh::NodeId host, mesh::ContentKey model, mesh::PlanTerm of);
  // Whoever carries out tells this.
  GroupReports& reports();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::fleet
