#include "mesh/allocation/split_plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "base/context_size.h"
#include "base/human_bytes.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kMaxHosts = 32;                 // the nodes with the most memory are tried
constexpr double kUnknownSpeed = 40e9;                // bytes per second: the memory of a desktop
constexpr double kUnknownLink = 100e6;                // bytes per second: most of 1 Gbit/s
constexpr std::uint64_t kUnknownRoundTrip = 1000;     // µs
constexpr std::uint64_t kBuffersPerToken = 1024;      // bytes in each share: the mask of a pass of 512 tokens
constexpr std::array<std::uint64_t, 9> kNearness = {  // µs; farther nodes are tried if nearer ones are too few
    250, 500, 1000, 2000, 5000, 10'000, 20'000, 50'000, ~std::uint64_t{0}};

std::uint64_t round_trip_of(const LinkQuality& link) {
  return link.round_trip_us == 0 ? kUnknownRoundTrip : link.round_trip_us;
}

// The order of hosts: most memory, then the higher id.
bool outranks(const SplitNode& a, const SplitNode& b) { return std::tie(a.memory, a.id) > std::tie(b.memory, b.id); }

class Planner {
 public:
  explicit Planner(const SplitQuery& query) : query_(query), model_(query.model), nodes_(query.nodes) {
    bound(model_);
    for (auto& node : nodes_) {
      node.memory = std::min(node.memory, kMaxPlannedBytes);
      if (!node.as_host) continue;
      bound(*node.as_host);
      node.as_host->layers = model_.layers;
    }
    std::ranges::sort(nodes_, outranks);
    const auto rest = std::ranges::unique(nodes_, {}, &SplitNode::id);
    nodes_.erase(rest.begin(), rest.end());
    file_somewhere_ = std::ranges::any_of(nodes_, &SplitNode::has_file);
    for (const auto& node : nodes_) by_id_.push_back(&node);
    std::ranges::sort(by_id_, {}, &SplitNode::id);
  }

  SplitAnswer plan() {
    if (const auto* alone = query_.ordered ? nullptr : single_node())
      return short_of(SplitObstacle::fits_alone,
                      fmt::format("{} can hold it alone: a split would only be slower", alone->name));
    if (const auto missing = missing_bytes(); missing > 0) {
      const auto nodes = std::ranges::count_if(nodes_, [&](const auto& node) { return is_of_use(node); });
      const auto lenders = nodes == 1 ? "1 node lends" : fmt::format("{} nodes lend", nodes);
      return short_of(SplitObstacle::no_memory,
                      fmt::format("it needs {}, {} {}{}: {} short", human_bytes(have() + missing), lenders,
                                  human_bytes(have()), nodes == 1 ? "" : " together", human_bytes(missing)),
                      have() + missing);
    }
    if (query_.ordered) {
      const auto& host = ordered_host();
      for (const auto& node : nodes_)
        if (room(node, host) == 0) return too_small(node, host);
      if (nodes_.size() > model_.layers + 1)
        return short_of(
            SplitObstacle::no_memory,
            fmt::format("it has {} layers, too few for {} nodes: name fewer nodes", model_.layers, nodes_.size()));
      try_all(host);
    } else {
      for (const auto* host : hosts()) try_host(*host);
    }
    if (best_) return {std::move(best_), std::nullopt};
    if (slow_)
      return short_of(
          SplitObstacle::too_slow,
          fmt::format("the network would take {:.1f} of the {:.1f} ms of each token; at most {:.0f} % is allowed",
                      slow_->wait_ms, slow_->token_ms, 100 * query_.max_wait));
    return short_of(SplitObstacle::no_links, "the nodes with enough memory together have no links to one host");
  }

 private:
  static void bound(SplitModel& model) {
    model.layers = std::clamp(model.layers, 1U, kMaxSplitLayers);
    for (auto* bytes : {&model.layer_bytes, &model.cache_bytes, &model.ends_bytes, &model.compute_bytes})
      *bytes = std::min(*bytes, kMaxPlannedBytes);
  }

  // With this node as host.
  const SplitModel& model_at(const SplitNode& host) const { return host.as_host ? *host.as_host : model_; }
  static std::uint64_t per_layer(const SplitModel& model) {
    return std::max<std::uint64_t>(model.layer_bytes + model.cache_bytes, 1);
  }
  static std::uint64_t beside_layers(const SplitModel& model, bool host) {
    return model.compute_bytes + (host ? model.ends_bytes + kHostBytes : 0);
  }
  // How many layers `node` can hold for `host`, or as the host.
  std::uint64_t room(const SplitNode& node, const SplitNode& host) const {
    const bool own = &node == &host;
    if (!own && !node.works) return 0;
    const auto& model = model_at(host);
    const auto taken = beside_layers(model, own);
    return node.memory < taken ? 0 : std::min<std::uint64_t>((node.memory - taken) / per_layer(model), kMaxSplitLayers);
  }
  std::uint64_t have() const {
    return std::accumulate(nodes_.begin(), nodes_.end(), std::uint64_t{0},
                           [&](auto sum, const auto& node) { return sum + (is_of_use(node) ? node.memory : 0); });
  }
  bool is_of_use(const SplitNode& node) const { return node.works || may_host(node); }
  bool may_host(const SplitNode& node) const { return node.has_file || !file_somewhere_; }

  // The nodes to try as host.
  std::vector<const SplitNode*> hosts() const {
    if (query_.ordered) return {&ordered_host()};
    std::vector<const SplitNode*> some;
    for (const auto& node : nodes_)
      if (some.size() < kMaxHosts && may_host(node)) some.push_back(&node);
    return some;
  }

  // At least one node may host.
  const SplitNode& ordered_host() const {
    const auto named = std::ranges::find_if(nodes_, [&](const auto& node) { return node.id == query_.host; });
    if (named != nodes_.end() && may_host(*named)) return *named;
    return *std::ranges::find_if(nodes_, [&](const auto& node) { return may_host(node); });
  }

  const SplitNode* single_node() const {
    const auto found = std::ranges::find_if(
        nodes_, [&](const auto& node) { return may_host(node) && room(node, node) >= model_.layers; });
    return found == nodes_.end() ? nullptr : &*found;
  }

  // The memory that all together lack, with the best of them as host; 0: it fits.
  std::uint64_t missing_bytes() const {
    if (nodes_.empty()) return model_.layers * per_layer(model_) + beside_layers(model_, true);
    auto least = ~std::uint64_t{0};
    for (const auto* host : hosts()) {
      std::uint64_t layers = 0;
      for (const auto& node : nodes_) layers += room(node, *host);
      const auto& model = model_at(*host);
      const auto ends = beside_layers(model, true);
      const auto beside = ends - std::min(ends, host->memory);
      least =
          std::min(least, (model_.layers - std::min<std::uint64_t>(layers, model_.layers)) * per_layer(model) + beside);
    }
    return least;
  }

  // A split over all nodes.
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
  // The nodes that could work for this host, the nearest first. Reads the host's links: they are fewer than the nodes
  // of a large mesh.
  std::vector<Worker> workers_of(const SplitNode& host) const {
    std::vector<Worker> workers;
    for (const auto& link : query_.links->of(host.id)) {
      const auto found = std::ranges::lower_bound(by_id_, link.b, {}, &SplitNode::id);
      if (found == by_id_.end() || (*found)->id != link.b || *found == &host || room(**found, host) == 0) continue;
      // A node that outranks the host would host itself, and is tried as such. With settings of its own it may need
      // more as a host than as a worker of this one.
      const bool alike = !(*found)->as_host && !host.as_host;
      if (alike && may_host(**found) && outranks(**found, host)) continue;
      workers.push_back({round_trip_of(link), *found});
    }
    std::ranges::sort(workers, {}, &Worker::round_trip);
    return workers;
  }

  // One try for each distance: the workers within it, those with the most memory first, as many as needed.
  void try_host(const SplitNode& host) {
    const auto workers = workers_of(host);
    std::vector<const SplitNode*> near;  // in the order of nodes_, which is that of memory
    auto rooms = room(host, host);
    auto next = workers.begin();
    for (const auto nearness : kNearness) {
      const auto before = near.size();
      for (; next != workers.end() && next->round_trip <= nearness; ++next) {
        near.insert(std::ranges::upper_bound(near, next->node), next->node);
        rooms += room(*next->node, host);
      }
      if (near.size() == before || rooms < model_.layers) continue;
      std::vector<const SplitNode*> group;
      auto layers = room(host, host);
      for (auto node = near.begin(); layers < model_.layers; ++node) {
        group.push_back(*node);
        layers += room(**node, host);
      }
      consider(host, std::move(group));
    }
  }

  void consider(const SplitNode& host, std::vector<const SplitNode*> group) {
    if (group.size() > model_.layers) return;
    auto layers = room(host, host);
    for (const auto* node : group) layers += room(*node, host);
    if (layers < model_.layers) return;
    std::ranges::sort(group, {}, &SplitNode::id);
    auto plan = share_out(host, std::move(group));
    const bool slow = !query_.ordered && plan.wait_ms > query_.max_wait * plan.token_ms;
    auto& place = slow ? slow_ : best_;
    const auto rank = [](const SplitPlan& one) { return std::tuple(one.shares.size(), one.wait_ms); };
    if (!place || rank(plan) < rank(*place)) place = std::move(plan);
  }

  SplitPlan share_out(const SplitNode& host, std::vector<const SplitNode*> group) const {
    group.push_back(&host);
    std::vector<std::uint64_t> rooms;
    for (const auto* node : group) rooms.push_back(room(*node, host));
    const auto layers = shared_out(rooms);
    const auto& model = model_at(host);
    SplitPlan plan;
    plan.host = host.id;
    plan.host_has_file = host.has_file;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto& node = *group[i];
      const bool own = &node == &host;
      const auto ends = own ? model.ends_bytes : 0;
      plan.shares.push_back({node.id, layers[i], layers[i] * model.layer_bytes + ends, layers[i] * model.cache_bytes,
                             model.compute_bytes + (own ? kHostBytes : 0)});
      const auto weights = static_cast<double>(plan.shares.back().weights);
      plan.token_ms += 1000 * weights / (node.speed == 0 ? kUnknownSpeed : static_cast<double>(node.speed));
      if (own) continue;
      const auto& link = *query_.links->find(host.id, node.id);
      plan.token_ms += kTurnMillis;
      plan.wait_ms += 2 * static_cast<double>(round_trip_of(link)) / 1000;
      plan.load_s += weights / (link.bytes_per_second == 0 ? kUnknownLink : static_cast<double>(link.bytes_per_second));
    }
    plan.token_ms += plan.wait_ms;
    grow_context(group, model, plan);
    return plan;
  }

  static void grow_context(const std::vector<const SplitNode*>& group, const SplitModel& model, SplitPlan& plan) {
    plan.context = model.context;
    // A smaller first context is the only one, whatever `max_context` a node reports.
    if (model.context < kFirstContext || model.max_context <= model.context) return;
    std::vector<ContextMemory> memory;
    std::vector<std::uint64_t> cells;  // bytes for each token, of each share
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto& share = plan.shares[i];
      cells.push_back((share.cache + model.context - 1) / model.context);
      memory.push_back({.per_token = cells[i] + kBuffersPerToken,
                        .free = group[i]->memory - std::min(group[i]->memory, share.weights + share.compute)});
    }
    plan.context = std::max<std::uint64_t>(model.context, automatic_context(model.max_context, memory));
    const auto more = plan.context - model.context;
    for (std::size_t i = 0; i < group.size(); ++i) {
      plan.shares[i].cache += more * cells[i];
      plan.shares[i].compute += more * kBuffersPerToken;
    }
  }

  // In proportion to `rooms`, which suffice; the host's is last. Each node gets at least one layer; if there is one
  // layer too few, the host computes only the output.
  std::vector<std::uint32_t> shared_out(const std::vector<std::uint64_t>& rooms) const {
    const auto all = std::accumulate(rooms.begin(), rooms.end(), std::uint64_t{0});
    std::vector<std::uint32_t> layers;
    std::uint32_t given = 0;
    for (const auto room : rooms) {
      layers.push_back(static_cast<std::uint32_t>(model_.layers * room / all));
      given += layers.back();
    }
    // Layers left by rounding go to the nodes with the most free memory, of equal ones the host first.
    while (given < model_.layers) {
      std::size_t largest = rooms.size() - 1;
      for (std::size_t i = 0; i < rooms.size(); ++i) {
        if (rooms[i] - layers[i] > rooms[largest] - layers[largest]) largest = i;
      }
      ++layers[largest];
      ++given;
    }
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      auto largest = std::ranges::max_element(layers);
      if (layers[i] > 0 || rooms[i] == 0) continue;
      if (*largest < 2) largest = std::prev(layers.end());
      if (*largest == 0 || i + 1 == rooms.size()) continue;
      --*largest;
      ++layers[i];
    }
    return layers;
  }

  // For a node of an ordered split that can't hold one layer.
  SplitAnswer too_small(const SplitNode& node, const SplitNode& host) const {
    if (&node != &host && !node.works)
      return short_of(SplitObstacle::no_memory,
                      fmt::format("no worker can run at {}: run `corral mesh doctor` there", node.name));
    const auto& model = model_at(host);
    const auto least = beside_layers(model, &node == &host) + per_layer(model);
    return {std::nullopt, SplitShortage{SplitObstacle::no_memory, least, node.memory,
                                        fmt::format("{} lends {}, and a share with one layer needs {} there", node.name,
                                                    human_bytes(node.memory), human_bytes(least))}};
  }

  // `need` is 0 if memory isn't the obstacle.
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
    text += fmt::format("{} layers and {} at {}{}, ", share.layers, human_bytes(share.total()), short_text(share.node),
                        share.node == plan.host ? " (host)" : "");
  }
  if (plan.context > 0) text += fmt::format("{} tokens of context, ", plan.context);
  return text + fmt::format("{:.1f} tokens/s, loads in {:.0f} s", plan.tokens_per_second(), plan.load_s);
}

}  // namespace corral::mesh
