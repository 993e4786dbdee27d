#include "mesh/catalog/route_memory.h"

namespace corral::mesh {

void RouteMemory::Traces::put(const Key& key, const NodeId& node, MonoTime until, std::size_t max_entries) {
  const auto found = by_key.find(key);
  if (found != by_key.end()) {
    newest_first.erase(found->second);
    by_key.erase(found);
  }
  newest_first.push_front({key, node, until});
  by_key.emplace(key, newest_first.begin());
  if (newest_first.size() <= max_entries) return;
  by_key.erase(newest_first.back().key);
  newest_first.pop_back();
}

std::optional<NodeId> RouteMemory::Traces::get(const Key& key, MonoTime now) const {
  const auto found = by_key.find(key);
  if (found == by_key.end() || found->second->until <= now) return std::nullopt;
  return found->second->node;
}

void RouteMemory::Traces::drop(const NodeId& node) {
  std::erase_if(by_key, [&](const auto& entry) { return entry.second->node == node; });
  std::erase_if(newest_first, [&](const auto& trace) { return trace.node == node; });
}

void RouteMemory::talked(std::uint64_t conversation, const ContentKey& model, const NodeId& node, MonoTime now) {
  if (conversation == 0) return;
  conversations_.put({conversation, model}, node, now + options_.conversation, options_.max_entries);
}

std::optional<NodeId> RouteMemory::host_of(std::uint64_t conversation, const ContentKey& model, MonoTime now) const {
  return conversations_.get({conversation, model}, now);
}

void RouteMemory::loaded(const ContentKey& model, const NodeId& node, MonoTime now) {
  loads_.put({0, model}, node, now + options_.load, options_.max_entries);
}

std::optional<NodeId> RouteMemory::recent_load(const ContentKey& model, MonoTime now) const {
  return loads_.get({0, model}, now);
}

void RouteMemory::failed(const NodeId& node) {
  conversations_.drop(node);
  loads_.drop(node);
}

}  // namespace corral::mesh
