// What requests know of models that several nodes hold together: told by the mesh's loop when it changes, read on any.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "mesh/catalog/catalog.h"
#include "models/model_info.h"
#include "router/base/identities.h"

namespace corral::fleet {

// A group that stands still for so long has come to nothing for now; before that another try may do.
inline constexpr Millis kSplitPatience{5'000};

struct SplitNews {
  enum class State : std::uint8_t {
    standing,  // this node hosts it, and it takes requests
    making,    // this node hosts it, and is about to have it
    stuck,     // this node is to host it, and it comes to nothing for now: `why`
    coming,    // it is going to be split, here or elsewhere
    lacking,   // it can't be served by anybody, alone or together: `why`, what is short by how much
  };
  mesh::ContentKey model;
  std::string name;  // on this node's disk; empty: it isn't there
  State state = State::coming;
  std::string why;
  std::uint64_t need = 0, have = 0;  // bytes, where that is what is wrong
  MonoTime since{};                  // that it is stuck
  // Where it is hosted here.
  bool is_here() const { return state == State::standing || state == State::making || state == State::stuck; }
  friend bool operator==(const SplitNews&, const SplitNews&) = default;
};

// On any thread.
class SplitBook {
 public:
  void tell(std::vector<SplitNews> all);
  std::optional<SplitNews> find(const models::ModelInfo& model) const;

  // A place for a request that waits for something of it; nullptr: as many wait as may, in all or of that peer, whose
  // other requests need its places as well.
  static constexpr std::size_t kMaxWaiting = 256;
  static constexpr std::size_t kMaxOfPeer = 8;
  std::shared_ptr<void> wait(const router::NodeRef& peer);
  std::size_t waiting() const;

 private:
  struct Waiting {
    std::mutex mutex;
    std::size_t all = 0;
    std::map<router::NodeRef, std::size_t> peers;
  };
  mutable std::mutex mutex_;  // of what follows, for a look at a list
  std::vector<SplitNews> all_;
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
};

}  // namespace corral::fleet
