// State of split models for requests: the mesh's loop publishes it, any thread reads it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "mesh/catalog/catalog.h"
#include "models/model_info.h"

namespace corral::fleet {

// A group without progress for this long is stuck; before that, another attempt may succeed.
inline constexpr Millis kSplitPatience{5'000};

struct SplitStatus {
  enum class State : std::uint8_t {
    standing,     // this node hosts it, and it serves requests
    making,       // this node hosts it, and starts it
    stuck,        // this node is its host, and it doesn't start for now: `why`
    coming,       // it is split at another host, or going to be split, here or elsewhere
    unavailable,  // no node and no group can serve it: `why`, what is short by how much
  };
  mesh::ContentKey model;
  std::string name;  // on this node's disk; empty: it isn't on it
  State state = State::coming;
  std::optional<mesh::NodeId> host = {};  // of the state `coming`, as far as known
  std::string why;
  std::uint64_t need = 0, have = 0;  // bytes, if memory is short
  MonoTime since{};                  // start of the state `stuck`
  // This node is its host.
  bool is_here() const { return state == State::standing || state == State::making || state == State::stuck; }
  friend bool operator==(const SplitStatus&, const SplitStatus&) = default;
};

// On any thread.
class SplitTable {
 public:
  void set(std::vector<SplitStatus> all);
  std::optional<SplitStatus> find(const models::ModelInfo& model) const;

  // A place in the queue of requests that wait for a group; nullptr: the limit is reached. Requests of a peer have no
  // limit of their own here: it would refuse some of those that PeerRequestLimits accepts, and they would fail at once,
  // while those beyond PeerRequestLimits wait at their entry node.
  static constexpr std::size_t kMaxWaiting = 256;
  std::shared_ptr<void> wait();
  std::size_t waiting() const;

 private:
  mutable Mutex mutex_;  // held for list lookups only
  std::vector<SplitStatus> all_ GUARDED_BY(mutex_);
  const std::shared_ptr<std::atomic<std::size_t>> waiting_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace corral::fleet
