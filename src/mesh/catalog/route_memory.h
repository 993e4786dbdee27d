// What an entry node remembers of its own choices: where a conversation lives, and where it had a model loaded.
// Bounded; pure, on the caller's clock; belongs to one loop.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "mesh/catalog/catalog.h"

namespace corral::mesh {

class RouteMemory {
 public:
  struct Options {
    std::size_t most = 4096;  // conversations, and models; the ones not used for longest are forgotten
    Millis conversation{30 * 60 * 1000};
    Millis load{60'000};
  };
  RouteMemory() : RouteMemory(Options()) {}
  explicit RouteMemory(const Options& options) : options_(options) {}

  // A conversation by a hash that the caller makes of it (0: none).
  void talked(std::uint64_t conversation, const ContentKey& model, const NodeId& node, MonoTime now);
  std::optional<NodeId> host_of(std::uint64_t conversation, const ContentKey& model, MonoTime now) const;
  void loaded(const ContentKey& model, const NodeId& node, MonoTime now);
  std::optional<NodeId> recent_load(const ContentKey& model, MonoTime now) const;
  // It failed, or its link ended: nothing goes there because it did before.
  void failed(const NodeId& node);

 private:
  using Key = std::pair<std::uint64_t, ContentKey>;
  struct Trace {
    Key key;
    NodeId node;
    MonoTime until;
  };
  struct Traces {
    std::list<Trace> newest_first;
    std::map<Key, std::list<Trace>::iterator> by_key;
    void put(const Key& key, const NodeId& node, MonoTime until, std::size_t most);
    std::optional<NodeId> get(const Key& key, MonoTime now) const;
    void drop(const NodeId& node);
  };

  Options options_;
  Traces conversations_;
  Traces loads_;
};

}  // namespace corral::mesh
