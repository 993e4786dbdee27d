// Orders and reports between the mesh's loop, which runs the groups, and the router's loop, which has the processes:
// engines of models that this node hosts, and workers for models of other hosts.
//
// Host                                                     Worker, one at a time
//   start_engine ──► engine_started, or engine_ended         open_worker ──► worker_ready, or worker_failed
//   drain_engine ──► engine_drained, then engine_ended       reap_worker ──► worker_reaped, when nothing is left
//   stop_engine  ──► engine_ended
//
// Each start gets exactly one engine_ended() in the end, and no later report of that plan. Each reap gets exactly one
// worker_reaped(), even if there was no worker, and no later report of that worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "backends/engine_protocol.h"
#include "base/clock.h"
#include "base/error.h"
#include "mesh/groups/group_plan.h"

namespace corral::fleet {

// Another node's part of a split, for the engine.
struct EnginePart {
  backends::RemotePart remote;  // `share` in layers
  std::string llama;            // its reported version of llama.cpp; empty: unknown
  // True once the worker, or the connection to it, has ended before the engine; set before the engine ends. None:
  // unknown.
  std::shared_ptr<const std::atomic<bool>> broken = {};
};

struct EngineOrder {
  mesh::ContentKey model;
  std::string name;  // in this node's registry
  mesh::PlanTerm of;
  std::vector<EnginePart> parts;  // in the order of their layers
  double own_share = 0;           // layers; the output counts as one
  std::uint64_t own_bytes = 0;    // predicted memory of this node's part
  std::uint64_t own_cache = 0;    // KV cells and compute buffers, included in own_bytes
  std::uint64_t context = 0;      // tokens that the plan has memory for; 0: the initial context of the model
  Millis deadline{0};             // of the load; 0: as for any model of its size
  bool by_owner = false;          // the owner ordered it here: a local load, else lent
};

struct WorkerOrder {
  mesh::NodeId host;
  std::string host_name;
  std::string model_name;  // for display; the model may be unknown here
  mesh::ContentKey model;
  mesh::PlanTerm of;
  std::uint64_t bytes = 0;
  std::string llama;  // version of llama.cpp at the host; empty: unknown
};

// The cause for requests of a split if a node with a part of it ended, or the connection to that node.
inline std::string lost_part(std::string_view node) {
  return fmt::format("the connection to {}, which computes a part of the model, is lost", node);
}

enum class EngineEnd : std::uint8_t {
  asked,     // by drain_engine or stop_engine
  failed,    // its load failed
  crashed,   // it exited after it had loaded
  given_up,  // evicted for its owner, for idleness or for another model, or unloaded by a user
};

// Called on the mesh's loop; returns at once.
class GroupProcesses {
 public:
  virtual ~GroupProcesses() = default;
  virtual void start_engine(EngineOrder order) = 0;
  // Accepts no new requests; running ones may finish, but are stopped after `within`. Then the engine ends.
  virtual void drain_engine(const mesh::ContentKey& model, mesh::PlanTerm of, std::optional<Millis> within) = 0;
  // Ends the engine at once, with its requests, which get `why` as the cause (text for users; empty: unknown).
  virtual void stop_engine(const mesh::ContentKey& model, mesh::PlanTerm of, std::string why) = 0;
  virtual void open_worker(WorkerOrder order) = 0;
  virtual void reap_worker(const mesh::NodeId& host, mesh::PlanTerm of) = 0;
  // While a model is held, requests can't load it: a group's engine serves them, or they fail with
  // residency::errc::not_here, so that no request loads a split model on this node alone. Unknown names may be held.
  virtual void hold(const std::string& name, bool held) = 0;
  // The members, whose weights may be cached here. Weights of all other nodes are removed.
  virtual void members(std::vector<mesh::NodeId> all) = 0;
};

// Called on the mesh's loop.
class GroupReports {
 public:
  virtual ~GroupReports() = default;
  virtual void engine_started(const mesh::ContentKey& model, mesh::PlanTerm of) = 0;
  // Progress of the load, 0..1; a few times a second at most.
  virtual void engine_progress(const mesh::ContentKey&, mesh::PlanTerm, double) {}
  virtual void engine_drained(const mesh::ContentKey& model, mesh::PlanTerm of) = 0;
  // `why` is text for users.
  virtual void engine_ended(const mesh::ContentKey& model, mesh::PlanTerm of, EngineEnd how, std::string why) = 0;
  // The worker listens at `socket` (a Unix socket of this machine).
  virtual void worker_ready(const mesh::NodeId& host, mesh::PlanTerm of, std::string socket, std::string llama) = 0;
  // The worker didn't start, or has ended without an order; reap_worker() is still needed.
  virtual void worker_failed(const mesh::NodeId& host, mesh::PlanTerm of, Error why) = 0;
  virtual void worker_reaped(const mesh::NodeId& host, mesh::PlanTerm of) = 0;
  // The owner of this machine wants the memory back. The worker lives for up to Settings::recall_grace (30 s) more,
  // less if it is reaped. At most once for each worker.
  virtual void recalled(const mesh::NodeId& host, mesh::PlanTerm of) = 0;
};

}  // namespace corral::fleet
