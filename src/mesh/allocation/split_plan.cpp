#include "mesh/allocation/split_plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "mesh/catalog/words.h"

namespace corral::mesh {
namespace {

constexpr std::uint32_t kMostLayers = 4096;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // more is taken for this
constexpr std::size_t kMostHosts = 32;                        // that are tried, those with the most memory
constexpr double kUnknownSpeed = 40e9;                        // bytes per second: the memory of a desktop
constexpr double kUnknownLink = 100e6;                        // bytes per second: most of 1 Gbit/s
constexpr std::uint64_t kUnknownRoundTrip = 1000;             // µs
constexpr std::array<std::uint64_t, 9> kNearness = {          // µs; nodes farther away are tried when these don't do
    250, 500, 1000, 2000, 5000, 10'000, 20'000, 50'000, ~std::uint64_t{0}};

std::uint64_t round_trip_of(const LinkFacts& link) {
  return link.round_trip_us == 0 ? kUnknownRoundTrip : link.round_trip_us;
}

// Hosts before others: most memory, then the higher id.
bool outranks(const SplitNode& a, const SplitNode& b) { return std::tie(a.memory, a.id) > std::tie(b.memory, b.id); }

class Planner {
 public:
  explicit Planner(const SplitQuery& query) : query_(query), model_(query.model), nodes_(query.nodes) {
    model_.layers = std::clamp(model_.layers, 1U, kMostLayers);
    for (auto* bytes : {&model_.layer_bytes, &model_.cache_bytes, &model_.ends_bytes, &model_.compute_bytes})
      *bytes = std::min(*bytes, kMostBytes);
    for (auto& node : nodes_) node.memory = std::min(node.memory, kMostBytes);
    std::ranges::sort(nodes_, outranks);
    const auto rest = std::ranges::unique(nodes_, {}, &SplitNode::id);
    nodes_.erase(rest.begin(), rest.end());
    file_somewhere_ = std::ranges::any_of(nodes_, &SplitNode::has_file);
    for (const auto& node : nodes_) by_id_.push_back(&node);
    std::ranges::sort(by_id_, {}, &SplitNode::id);
  }

  SplitAnswer plan() {
    if (const auto* alone = query_.told ? nullptr : who_holds_all())
      return short_of(SplitObstacle::fits_alone,
                      fmt::format("{} can hold it alone: a split would only be slower", short_text(alone->id)));
    if (const auto missing = missing_bytes(); missing > 0)
      return short_of(SplitObstacle::no_memory,
                      fmt::format("it needs {}, {} nodes give {} together: {} short", in_gb(have() + missing),
                                  nodes_.size(), in_gb(have()), in_gb(missing)),
                      have() + missing);
    if (query_.told) {
      try_all(*std::ranges::find_if(nodes_, [&](const auto& node) { return may_host(node); }));
    } else {
      std::size_t tried = 0;
      for (const auto& host : nodes_) {
        if (!may_host(host)) continue;
        if (++tried > kMostHosts) break;
        try_host(host);
      }
    }
    if (best_) return {std::move(best_), std::nullopt};
    if (slow_)
      return short_of(SplitObstacle::too_slow,
                      fmt::format("the network would take {:.1f} of the {:.1f} ms of each token; {:.0f} % is the most",
                                  slow_->wait_ms, slow_->token_ms, 100 * query_.most_wait));
    return short_of(SplitObstacle::no_links, "the nodes that have the memory together have no links to one host");
  }

 private:
  std::uint64_t per_layer() const { return std::max<std::uint64_t>(model_.layer_bytes + model_.cache_bytes, 1); }
  std::uint64_t beside_layers(bool host) const { return model_.compute_bytes + (host ? model_.ends_bytes : 0); }
  // How many layers it can hold.
  std::uint64_t room(const SplitNode& node, bool host) const {
    const auto taken = beside_layers(host);
    return node.memory < taken ? 0 : std::min<std::uint64_t>((node.memory - taken) / per_layer(), kMostLayers);
  }
  std::uint64_t have() const {
    return std::accumulate(nodes_.begin(), nodes_.end(), std::uint64_t{0},
                           [](auto sum, const auto& node) { return sum + node.memory; });
  }
  bool may_host(const SplitNode& node) const { return node.has_file || !file_somewhere_; }

  const SplitNode* who_holds_all() const {
    const auto found =
        std::ranges::find_if(nodes_, [&](const auto& node) { return room(node, true) >= model_.layers; });
    return found == nodes_.end() ? nullptr : &*found;
  }

  // What all together lack, if one of them is the host; 0: it fits.
  std::uint64_t missing_bytes() const {
    std::uint64_t all = 0;
    for (const auto& node : nodes_) all += room(node, false);
    const auto whole = model_.layers * per_layer() + beside_layers(true);
    auto least = nodes_.empty() ? whole : ~std::uint64_t{0};
    for (const auto& host : nodes_) {
      if (!may_host(host)) continue;
      const auto layers = all - room(host, false) + room(host, true);
      const auto beside = beside_layers(true) - std::min(beside_layers(true), host.memory);
      least = std::min(least, (model_.layers - std::min<std::uint64_t>(layers, model_.layers)) * per_layer() + beside);
    }
    return least;
  }

  // Over all of them.
  void try_all(const SplitNode& host) {
    std::vector<const SplitNode*> group;
    for (const auto& node : nodes_) {
      if (&node == &host) continue;
      if (!query_.links->find(host.id, node.id)) return;
      group.push_back(&node);
    }
    consider(host, std::move(group));
  }

  struct Worker {
    std::uint64_t round_trip;
    const SplitNode* node;
  };
  // Those that could work for this host, the nearest first. A host has few links, a mesh many nodes.
  std::vector<Worker> workers_of(const SplitNode& host) const {
    std::vector<Worker> workers;
    for (const auto& link : query_.links->of(host.id)) {
      const auto found = std::ranges::lower_bound(by_id_, link.b, {}, &SplitNode::id);
      if (found == by_id_.end() || (*found)->id != link.b || *found == &host || room(**found, false) == 0) continue;
      // It would have to host, and is tried itself.
      if (may_host(**found) && outranks(**found, host)) continue;
      workers.push_back({round_trip_of(link), *found});
    }
    std::ranges::sort(workers, {}, &Worker::round_trip);
    return workers;
  }

  // For each distance with the workers that are as near, those with the most memory first, as many as it takes.
  void try_host(const SplitNode& host) {
    const auto workers = workers_of(host);
    std::vector<const SplitNode*> near;  // in the order of nodes_, which is that of memory
    auto rooms = room(host, true);
    auto next = workers.begin();
    for (const auto nearness : kNearness) {
      const auto before = near.size();
      for (; next != workers.end() && next->round_trip <= nearness; ++next) {
        near.insert(std::ranges::upper_bound(near, next->node), next->node);
        rooms += room(*next->node, false);
      }
      if (near.size() == before || rooms < model_.layers) continue;
      std::vector<const SplitNode*> group;
      auto layers = room(host, true);
      for (auto node = near.begin(); layers < model_.layers; ++node) {
        group.push_back(*node);
        layers += room(**node, false);
      }
      consider(host, std::move(group));
    }
  }

  void consider(const SplitNode& host, std::vector<const SplitNode*> group) {
    auto layers = room(host, true);
    for (const auto* node : group) layers += room(*node, false);
    if (layers < model_.layers) return;
    std::ranges::sort(group, {}, &SplitNode::id);
    auto plan = share_out(host, std::move(group));
    const bool slow = !query_.told && plan.wait_ms > query_.most_wait * plan.token_ms;
    auto& place = slow ? slow_ : best_;
    const auto rank = [](const SplitPlan& one) { return std::tuple(one.shares.size(), one.wait_ms); };
    if (!place || rank(plan) < rank(*place)) place = std::move(plan);
  }

  SplitPlan share_out(const SplitNode& host, std::vector<const SplitNode*> group) const {
    group.push_back(&host);
    std::vector<std::uint64_t> rooms;
    for (const auto* node : group) rooms.push_back(room(*node, node == &host));
    const auto layers = shared_out(rooms);
    SplitPlan plan;
    plan.host = host.id;
    plan.host_has_file = host.has_file;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto& node = *group[i];
      const bool own = &node == &host;
      const auto ends = own ? model_.ends_bytes : 0;
      plan.shares.push_back({node.id, layers[i], layers[i] * model_.layer_bytes + ends, layers[i] * model_.cache_bytes,
                             model_.compute_bytes});
      const auto weights = static_cast<double>(plan.shares.back().weights);
      plan.token_ms += 1000 * weights / (node.speed == 0 ? kUnknownSpeed : static_cast<double>(node.speed));
      if (own) continue;
      const auto& link = *query_.links->find(host.id, node.id);
      plan.wait_ms += 2 * static_cast<double>(round_trip_of(link)) / 1000;
      plan.load_s += weights / (link.bytes_per_second == 0 ? kUnknownLink : static_cast<double>(link.bytes_per_second));
    }
    plan.token_ms += plan.wait_ms;
    return plan;
  }

  // In proportion to `rooms`, which suffice; at least one layer each where there are as many.
  std::vector<std::uint32_t> shared_out(const std::vector<std::uint64_t>& rooms) const {
    const auto all = std::accumulate(rooms.begin(), rooms.end(), std::uint64_t{0});
    std::vector<std::uint32_t> layers;
    std::uint32_t given = 0;
    for (const auto room : rooms) {
      layers.push_back(static_cast<std::uint32_t>(model_.layers * room / all));
      given += layers.back();
    }
    // What rounding has left goes to those that have most room left, the host first of equals.
    while (given < model_.layers) {
      std::size_t most = rooms.size() - 1;
      for (std::size_t i = 0; i < rooms.size(); ++i) {
        if (rooms[i] - layers[i] > rooms[most] - layers[most]) most = i;
      }
      ++layers[most];
      ++given;
    }
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      const auto most = std::ranges::max_element(layers);
      if (layers[i] > 0 || rooms[i] == 0 || *most < 2) continue;
      --*most;
      ++layers[i];
    }
    return layers;
  }

  // `need` is 0 where it isn't a matter of bytes.
  SplitAnswer short_of(SplitObstacle obstacle, std::string text, std::uint64_t need = 0) const {
    return {std::nullopt, SplitShortage{obstacle, need, need == 0 ? 0 : have(), std::move(text)}};
  }

  const SplitQuery& query_;
  SplitModel model_;
  std::vector<SplitNode> nodes_;
  std::vector<const SplitNode*> by_id_;
  bool file_somewhere_ = false;
  std::optional<SplitPlan> best_;
  std::optional<SplitPlan> slow_;
};

}  // namespace

SplitModel rough_split_model(std::uint64_t bytes, std::uint64_t need) {
  constexpr std::uint32_t kLayers = 32;
  SplitModel model;
  model.layers = kLayers;
  model.layer_bytes = bytes / (kLayers + 1);
  model.ends_bytes = model.layer_bytes;
  model.compute_bytes = need / kLayers;
  const auto beside_weights = need - std::min(need, bytes);
  model.cache_bytes = (beside_weights - std::min(beside_weights, model.compute_bytes)) / kLayers;
  return model;
}

std::string_view name_of(SplitObstacle obstacle) {
  constexpr std::string_view kNames[] = {"fits_alone", "no_memory", "no_links", "too_slow"};
  return kNames[static_cast<std::size_t>(obstacle)];
}

SplitAnswer plan_split(const SplitQuery& query) { return Planner(query).plan(); }

std::string in_words(const SplitPlan& plan) {
  std::string text;
  for (const auto& share : plan.shares) {
    text += fmt::format("{} layers and {} at {}{}, ", share.layers, in_gb(share.total()), short_text(share.node),
                        share.node == plan.host ? " (host)" : "");
  }
  return text + fmt::format("{:.1f} tokens/s, loads in {:.0f} s", plan.tokens_per_second(), plan.load_s);
}

}  // namespace corral::mesh
