// What an entry node remembers of its own node selections: the node of each conversation, and the nodes of recent
// loads. Bounded; pure, on the caller's clock; belongs to one loop.
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
    std::size_t max_entries = 4096;  // conversations, and loads; the least recently used ones are forgotten
    Millis conversation{30 * 60 * 1000};
    Millis load{60'000};
  };
  RouteMemory() : RouteMemory(Options()) {}
  explicit RouteMemory(const Options& options) : options_(options) {}

  // `conversation`: a hash that the caller computes (0: none).
  void talked(std::uint64_t conversation, const ContentKey& model, const NodeId& node, MonoTime now);
  std::optional<NodeId> host_of(std::uint64_t conversation, const ContentKey& model, MonoTime now) const;
  void loaded(const ContentKey& model, const NodeId& node, MonoTime now);
  std::optional<NodeId> recent_load(const ContentKey& model, MonoTime now) const;
  // The node failed, or its link ended: forgets its conversations and loads.
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
    void put(const Key& key, const NodeId& node, MonoTime until, std::size_t max_entries);
    std::optional<NodeId> get(const Key& key, MonoTime now) const;
    void drop(const NodeId& node);
  };

  Options options_;
  Traces conversations_;
  Traces loads_;
};

}  // namespace corral::mesh
