// Situations of tests, in few words, and what comes of them as text.
#pragma once

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "mesh/allocation/allocation.h"
#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::mesh {

class AllocationFixture : public testing::Test {
 protected:
  static NodeId id(unsigned number) { return {sha256({"node ", std::to_string(number)})}; }
  static ContentKey key(const std::string& name) { return {sha256({name}), false}; }

  // An empty node with `gb` of memory, all for the mesh, with these models on its disk; it takes copies. Links to all
  // that are there.
  AllocationNode& node(unsigned number, std::uint64_t gb, const std::vector<std::string>& on_disk = {},
                       Role role = Role::worker) {
    const auto own = id(number);
    for (const auto& other : situation.nodes) links.push_back({other.id, own, 200, 0});
    auto& node = situation.nodes.emplace_back();
    node.id = own;
    node.name = "n" + std::to_string(number);
    node.role = role;
    node.cpu = node.gpu = {gb * kGB, gb * kGB, gb * kGB};
    node.disk_free = 1000 * kGB;
    node.takes_copies = true;
    for (const auto& name : on_disk) node.on_disk.push_back(key(name));
    return node;
  }
  // Files of `gb`, which take as much memory.
  AllocationModel& model(const std::string& name, std::uint64_t gb) {
    auto& model = situation.models.emplace_back();
    model.content = key(name);
    model.name = name;
    model.bytes = model.need = gb * kGB;
    model.may_copy = true;
    return model;
  }
  AllocationNode& at(unsigned number) { return *std::ranges::find(situation.nodes, id(number), &AllocationNode::id); }
  AllocationModel& of(const std::string& name) {
    return *std::ranges::find(situation.models, name, &AllocationModel::name);
  }
  HeldModel& hold(unsigned number, const std::string& name, std::uint64_t idle_s = 0,
                  HeldModel::Use use = HeldModel::Use::lent) {
    auto& node = at(number);
    auto& held = node.holds.emplace_back();
    held.model = key(name);
    held.use = use;
    held.bytes = of(name).need;
    held.idle_ms = idle_s * 1000;
    if (node.role == Role::member) node.cpu.now -= held.bytes, node.cpu.idle -= held.bytes, node.gpu = node.cpu;
    return held;
  }
  void hold_shares(unsigned host, const std::vector<unsigned>& workers, const std::string& name,
                   std::uint64_t idle_s = 0) {
    hold(host, name, idle_s, HeldModel::Use::share).host = id(host);
    for (const auto worker : workers) hold(worker, name, idle_s, HeldModel::Use::share).host = id(host);
  }

  // The same again, once all have done as they were told.
  void settle(const Allocation& allocation) {
    for (const auto& unload : allocation.unloads) {
      for (auto& node : situation.nodes) {
        if (node.id == unload.node) std::erase_if(node.holds, [&](const auto& h) { return h.model == unload.model; });
      }
    }
    for (const auto& got : allocation.assignments) {
      if (!got.priority || got.waits || got.part == Part::standby) continue;
      auto& node = *std::ranges::find(situation.nodes, got.node, &AllocationNode::id);
      const auto split = std::ranges::find(allocation.splits, got.model, &SplitDecision::model);
      auto& held = node.holds.emplace_back();
      held.model = got.model;
      if (split != allocation.splits.end()) {
        held.use = HeldModel::Use::share;
        held.host = split->plan.host;
      }
      if (got.fetch != Fetch::none) node.on_disk.push_back(got.model);
    }
  }

  const std::string& name_of_node(const NodeId& id) const {
    return std::ranges::find(situation.nodes, id, &AllocationNode::id)->name;
  }
  const std::string& name_of_model(const ContentKey& key) const {
    return std::ranges::find(situation.models, key, &AllocationModel::content)->name;
  }
  // "n1 a alone unserved", "n2 b replica fetch copy", "n3 c share keeps", sorted.
  std::vector<std::string> lines(const Allocation& allocation) const {
    std::vector<std::string> all;
    for (const auto& got : allocation.assignments) {
      all.push_back(fmt::format("{} {} {} {}{}{}", name_of_node(got.node), name_of_model(got.model), name_of(got.part),
                                got.priority ? name_of(*got.priority) : "keeps",
                                got.fetch == Fetch::none   ? ""
                                : got.fetch == Fetch::copy ? " copy"
                                                           : " download",
                                got.waits ? " waits" : ""));
    }
    for (const auto& unload : allocation.unloads)
      all.push_back(
          fmt::format("{} {} goes: {}", name_of_node(unload.node), name_of_model(unload.model), name_of(unload.cause)));
    for (const auto& entry : allocation.unserved)
      all.push_back(fmt::format("- {} {}", name_of_model(entry.model), name_of(entry.reason)));
    std::ranges::sort(all);
    return all;
  }
  Allocation decide() {
    situation.links = LinkTable(links);
    return allocate(situation, rules);
  }
  std::vector<std::string> decided() { return lines(decide()); }

  AllocationInput situation;
  std::vector<LinkQuality> links;
  AllocationRules rules;
};

using Lines = std::vector<std::string>;

}  // namespace corral::mesh
