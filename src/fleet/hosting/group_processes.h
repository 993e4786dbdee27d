// What a group of nodes needs done at this one, on the loop of the router: engines of models that it hosts, workers of
// models that others host. Who runs the groups says it on the mesh's loop and hears what came of it there.
//
// Host                                                     Worker, one at a time
//   start_engine ──► engine_started, or engine_ended         open_worker ──► worker_ready, or worker_failed
//   drain_engine ──► engine_drained, then engine_ended       reap_worker ──► worker_reaped, when nothing is left
//   stop_engine  ──► engine_ended
//
// Each start is answered by one engine_ended(), sooner or later, and nothing of that plan follows it. Each reap is
// answered by one worker_reaped(), also where there was nothing, and nothing of that worker follows it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/engine_protocol.h"
#include "base/clock.h"
#include "base/error.h"
#include "mesh/groups/group_plan.h"

namespace corral::fleet {

// Another node's part of a split, as the engine reaches it.
struct EnginePart {
  backends::RemotePart remote;  // `share` in layers
  std::string llama;            // version of llama.cpp there, as it says itself; empty: not known
  // True once the worker, or the way to it, has ended under the engine; known before the engine is. None: nobody knows.
  std::shared_ptr<const std::atomic<bool>> broken = {};
};

struct EngineOrder {
  mesh::ContentKey model;
  std::string name;  // of this node's own registry
  mesh::PlanTerm of;
  std::vector<EnginePart> parts;  // in the order of their layers
  double own_share = 0;           // layers, the output being one
  std::uint64_t own_bytes = 0;    // of memory that the plan predicts for this node's part
  std::uint64_t own_cache = 0;    // of them, for KV cells and compute buffers
  std::uint64_t context = 0;      // tokens that the plan has room for; 0: the first that a model begins with
  Millis deadline{0};             // of the load; 0: as for any load of a model of its size
  bool told = false;              // the owner asked for it here: it is loaded as his own, else as lent
};

struct WorkerOrder {
  mesh::NodeId host;
  std::string host_name;
  std::string model_name;  // for people; it need not be known here
  mesh::ContentKey model;
  mesh::PlanTerm of;
  std::uint64_t bytes = 0;
  std::string llama;  // version of llama.cpp at the host; empty: not known
};

enum class EngineEnd : std::uint8_t {
  asked,     // drain_engine or stop_engine
  failed,    // it didn't load
  crashed,   // it ended by itself, after it had loaded
  given_up,  // it had to go for its owner, for idleness or for another model, or somebody unloaded it
};

// Called on the mesh's loop; returns at once.
class GroupProcesses {
 public:
  virtual ~GroupProcesses() = default;
  virtual void start_engine(EngineOrder order) = 0;
  // Nothing new begins on it; what runs may end, but is cut off after `within`. Then the engine ends.
  virtual void drain_engine(const mesh::ContentKey& model, mesh::PlanTerm of, std::optional<Millis> within) = 0;
  // At once, whatever runs on it.
  virtual void stop_engine(const mesh::ContentKey& model, mesh::PlanTerm of) = 0;
  virtual void open_worker(WorkerOrder order) = 0;
  virtual void reap_worker(const mesh::NodeId& host, mesh::PlanTerm of) = 0;
  // While a model is held, requests for it load nothing: they are served by a group's engine, or refused with
  // residency::errc::not_here, so that nobody loads alone what is meant for several nodes. Unknown names may be held.
  virtual void hold(const std::string& name, bool held) = 0;
  // Who may have weights kept here. Those of all others are removed.
  virtual void members(std::vector<mesh::NodeId> all) = 0;
};

// Called on the mesh's loop.
class GroupReports {
 public:
  virtual ~GroupReports() = default;
  virtual void engine_started(const mesh::ContentKey& model, mesh::PlanTerm of) = 0;
  // While it loads, 0..1; a few times a second at most.
  virtual void engine_progress(const mesh::ContentKey&, mesh::PlanTerm, double) {}
  virtual void engine_drained(const mesh::ContentKey& model, mesh::PlanTerm of) = 0;
  // `why` is for people.
  virtual void engine_ended(const mesh::ContentKey& model, mesh::PlanTerm of, EngineEnd how, std::string why) = 0;
  // It listens at `socket` (a Unix socket of this machine).
  virtual void worker_ready(const mesh::NodeId& host, mesh::PlanTerm of, std::string socket, std::string llama) = 0;
  // It didn't start, or has ended without having been told to; a reap has still to be asked for.
  virtual void worker_failed(const mesh::NodeId& host, mesh::PlanTerm of, Error why) = 0;
  virtual void worker_reaped(const mesh::NodeId& host, mesh::PlanTerm of) = 0;
  // The owner of this machine wants the memory back: the worker lives for up to Settings::recall_grace (30 s) more,
  // sooner if it is reaped. At most once for each worker.
  virtual void recalled(const mesh::NodeId& host, mesh::PlanTerm of) = 0;
};

}  // namespace corral::fleet
