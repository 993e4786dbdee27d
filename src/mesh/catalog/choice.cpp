#include "mesh/catalog/choice.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include <fmt/format.h>

#include "base/human_bytes.h"
#include "mesh/identity/bytes.h"

namespace corral::mesh {
namespace {

struct Row {
  std::string_view name;
  int retry_s;  // when a retry makes sense
};
// In the order of Obstacle.
constexpr Row kObstacles[] = {{"none", 0},           {"away", 5},     {"silent", 1},     {"failed", 2},
                              {"full", 1},           {"draining", 2}, {"no_memory", 30}, {"memory_taken", 10},
                              {"lends_nothing", 30}, {"no_file", 30}};
const Row& row_of(Obstacle obstacle) { return kObstacles[static_cast<std::size_t>(obstacle)]; }

// How close the node is to serving the model; 0 is closest. The shortage has the closest one.
constexpr int closeness(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::full:
      return 0;
    case Obstacle::draining:
      return 1;
    case Obstacle::memory_taken:
      return 2;
    case Obstacle::failed:
      return 3;
    case Obstacle::silent:
      return 4;
    case Obstacle::no_memory:
      return 5;
    case Obstacle::lends_nothing:
      return 6;
    case Obstacle::away:
      return 7;
    default:
      return 8;
  }
}

// Speed in coarse steps: smaller differences are noise.
int speed_step(double tokens_per_second) {
  const auto tenths = static_cast<std::uint64_t>(tokens_per_second * 10);
  const int digits = std::bit_width(tenths);
  return digits < 3 ? digits : 4 * digits + static_cast<int>(tenths >> (digits - 3) & 3);
}

// Decides between equal nodes, with the same result at all nodes (rendezvous hashing).
std::uint64_t draw(const ContentKey& model, const NodeId& node) {
  std::string body;
  ByteWriter(body).raw(model.bytes).raw(node.bytes);
  const auto hash = tagged_hash("place of a model", body);
  return ByteReader(as_text(hash)).number<std::uint64_t>();
}

struct Scored {
  Candidate candidate;
  bool follows = false;  // host of the conversation, or of a recent load
  bool accelerated = false;
  int speed = 0;
  std::uint64_t queue = 0;  // requests for each parallel request of the node, in thousandths
  Millis round_trip{0};
  std::uint64_t tie_break = 0;
};

bool in_memory(Rank rank) { return rank <= Rank::loading; }

bool better(const Scored& a, const Scored& b) {
  const auto& x = a.candidate;
  const auto& y = b.candidate;
  if (in_memory(x.rank) && in_memory(y.rank) && a.follows != b.follows) return a.follows;
  if (x.rank != y.rank) return x.rank < y.rank;
  if (x.rank == Rank::none) {
    return std::tuple(closeness(x.obstacle), x.need - std::min(x.need, x.have), x.node) <
           std::tuple(closeness(y.obstacle), y.need - std::min(y.need, y.have), y.node);
  }
  if (in_memory(x.rank)) {
    return std::tuple(-a.speed, a.queue, a.round_trip, x.node) < std::tuple(-b.speed, b.queue, b.round_trip, y.node);
  }
  return std::tuple(!a.follows, !a.accelerated, -a.speed, a.tie_break, x.node) <
         std::tuple(!b.follows, !b.accelerated, -b.speed, b.tie_break, y.node);
}

class Judge {
 public:
  Judge(const NodeNames& names, const MeshModel& model, const ChoiceQuery& query)
      : names_(names), model_(model), query_(query) {}

  Scored look(const KnownNode& node) const {
    Scored scored;
    auto& candidate = scored.candidate;
    candidate.node = node.id;
    candidate.node_name = names_.shown(node.id);
    scored.round_trip = node.round_trip.value_or(Millis(0));
    scored.tie_break = draw(model_.content, node.id);
    const auto copy = std::ranges::find(model_.copies, &node, &ModelCopy::node);
    if (!may_be_asked(node, candidate)) return scored;
    if (copy == model_.copies.end()) {
      refuse(candidate, Obstacle::no_file, "it doesn't have the model");
      return scored;
    }
    scored.accelerated = has(copy->model->device, Device::gpu | Device::npu);
    scored.speed = speed_step(copy->model->tokens_per_second);
    if (copy->serving) {
      take_served(*copy->serving, node, scored);
    } else {
      take_room(node, *copy->model, candidate);
    }
    const auto& follow = in_memory(candidate.rank) ? query_.host_of_conversation : query_.recent_load;
    scored.follows = candidate.rank != Rank::none && follow == node.id;
    return scored;
  }

 private:
  static void refuse(Candidate& candidate, Obstacle obstacle, std::string text, std::uint64_t need = 0,
                     std::uint64_t have = 0) {
    candidate.obstacle = obstacle;
    candidate.need = need;
    candidate.have = have;
    candidate.text = std::move(text);
  }
  static void accept(Candidate& candidate, Rank rank, std::string text) {
    candidate.rank = rank;
    candidate.text = std::move(text);
  }
  std::uint32_t ours_at(const NodeId& node) const {
    const auto found = query_.in_flight.find(node);
    return found == query_.in_flight.end() ? 0 : found->second;
  }

  bool may_be_asked(const KnownNode& node, Candidate& candidate) const {
    const bool own = node.reach == Reach::own;
    const auto excluded = query_.excluded.find(node.id);
    if (!is_routable(node.reach)) {
      refuse(candidate, Obstacle::away, "no link to it");
    } else if (!node.node_state) {
      refuse(candidate, Obstacle::silent, "it hasn't announced itself yet");
    } else if (excluded != query_.excluded.end()) {
      refuse(candidate, Obstacle::failed, excluded->second);
    } else if (!own && node.node_state->role == Role::client) {
      refuse(candidate, Obstacle::lends_nothing, "it is a client and serves no other nodes");
    } else if (!own && ours_at(node.id) >= query_.max_in_flight) {
      refuse(candidate, Obstacle::full, fmt::format("it already runs {} requests of this node", ours_at(node.id)));
    } else {
      return true;
    }
    return false;
  }

  void take_served(const ServedModel& served, const KnownNode& node, Scored& scored) const {
    auto& candidate = scored.candidate;
    if (served.tokens_per_second > 0) scored.speed = speed_step(served.tokens_per_second);
    if (served.state == ServingState::draining)
      return refuse(candidate, Obstacle::draining, "it is unloading the model");
    if (served.state == ServingState::loading) return accept(candidate, Rank::loading, "it is loading the model");
    const std::uint64_t places = std::max(served.slots, 1U);
    const auto there = std::max<std::uint64_t>(std::uint64_t{served.running} + served.waiting, ours_at(node.id));
    scored.queue = there * 1000 / places;
    if (there < places) return accept(candidate, Rank::idle, "the model is in memory");
    accept(candidate, Rank::busy, fmt::format("the model is in memory, with {} requests", there));
  }

  static void take_room(const KnownNode& node, const ModelOnDisk& model, Candidate& candidate) {
    const auto room = headroom_for(node, model);
    const auto need = memory_need(model);
    if (room.total == 0) return refuse(candidate, Obstacle::lends_nothing, "it lends no memory", need, 0);
    if (need > room.total)
      return refuse(
          candidate, Obstacle::no_memory,
          fmt::format("the model needs {}, the node has at most {} for it", human_bytes(need), human_bytes(room.total)),
          need, room.total);
    if (need > room.idle)
      return refuse(
          candidate, Obstacle::memory_taken,
          fmt::format("the model needs {}, only {} can be freed now", human_bytes(need), human_bytes(room.idle)), need,
          room.idle);
    if (need > room.now) return accept(candidate, Rank::evicts, "it would load the model and evict an idle one");
    accept(candidate, Rank::fits, "it would load the model");
  }

  const NodeNames& names_;
  const MeshModel& model_;
  const ChoiceQuery& query_;
};

}  // namespace

std::string_view name_of(Rank rank) {
  constexpr std::string_view kNames[] = {"idle", "busy", "loading", "fits", "evicts", "none"};
  return kNames[static_cast<std::size_t>(rank)];
}
std::string_view name_of(Obstacle obstacle) { return row_of(obstacle).name; }

Choice choose(const Catalog& catalog, const MeshModel& model, const ChoiceQuery& query) {
  Choice choice;
  if (!model.facts) {
    choice.shortage = {Obstacle::no_file, {}, 0, 0, "no node has the model on disk", {}};
    choice.shortage->retry_after = std::chrono::seconds(row_of(Obstacle::no_file).retry_s);
    return choice;
  }
  const Judge judge(catalog.names(), model, query);
  std::vector<Scored> scored;
  for (const auto& node : catalog.nodes()) {
    if (node.reach != Reach::own || query.own_too) scored.push_back(judge.look(node));
  }
  std::ranges::sort(scored, better);
  for (auto& one : scored) choice.candidates.push_back(std::move(one.candidate));
  if (!choice.candidates.empty() && choice.candidates.front().rank != Rank::none) {
    choice.node = choice.candidates.front().node;
    choice.rank = choice.candidates.front().rank;
    return choice;
  }
  auto& shortage = choice.shortage.emplace();
  shortage.text = "no other node can be reached";
  if (!choice.candidates.empty()) {
    const auto& nearest = choice.candidates.front();
    shortage = {nearest.obstacle,
                nearest.node,
                nearest.need,
                nearest.have,
                fmt::format("{}: {}", nearest.node_name, nearest.text),
                {}};
  }
  shortage.retry_after = std::chrono::seconds(row_of(shortage.obstacle).retry_s);
  return choice;
}

}  // namespace corral::mesh
