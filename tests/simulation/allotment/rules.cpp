// What must hold in a town, while time passes and once it is at rest.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fleet/base/renamed_keys.h"
#include "simulation/allotment/home.h"

namespace corral::fleet::allotment_simulation {
namespace {

constexpr Millis kWorks{60'000};
constexpr Millis kAftermath{90'000};  // of what people say, and of faults of a group's own nodes
constexpr Millis kRest{180'000};
constexpr Millis kSoonLost{10'000};  // since a loss
constexpr Millis kPlanned{1'000};    // less than plans have to settle
constexpr int kTries = 30;
constexpr unsigned kForACause = 2;

}  // namespace

void Town::check_memory() {
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    if (booked(at) > homes_[at]->memory)
      return fail("what is booked is there", fmt::format("n{}: {} of {}", at, booked(at), homes_[at]->memory));
  }
}

// Whatever becomes of its nodes.
void Town::check_orders() {
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    const auto& home = *homes_[at];
    if (!home.allotter || home.orders.empty()) continue;
    mesh::NodeState state;
    home.allotter->add_to(state);
    for (const auto model : home.orders) {
      const auto& orders = state.split_orders;
      if (std::ranges::find(orders, key(model), &mesh::SplitOrder::model) == orders.end())
        return fail("a split that is ordered stands until it is unloaded", fmt::format("m{} at n{}", model, at));
    }
  }
}

// Which groups stand, as each node knows it.
void Town::learn_groups() {
  for (const auto& home : homes_) {
    auto before = std::exchange(home->known_groups, {});
    if (!home->allotter) continue;
    const auto learn = [&](unsigned host, const mesh::NodeState& node_state) {
      for (const auto& group : node_state.groups) {
        if (group.stage != mesh::GroupStage::standing) continue;
        Home::KnownGroup entry{host, {}, now_};
        for (const auto& share : group.shares) entry.nodes.insert(number_of(share.node));
        if (const auto known = before.find(group.model); known != before.end() && known->second.host == host)
          entry.since = known->second.since;
        home->known_groups[group.model] = std::move(entry);
      }
    };
    learn(home->at, home->node_state);
    for (const auto& [other, known] : home->known)
      if (known.linked && known.node_state) learn(other, *known.node_state);
  }
}

void Town::check_losses() {
  for (const auto& home : homes_) {
    std::erase_if(home->losses, [&](const auto& one) {
      return now_ - one.second.since > kSoonLost || stirred_ >= one.second.since || !home->allotter;
    });
    for (const auto& model : keys_of(home->losses)) check_loss(*home, model);
  }
}

// What stood, lost a node, and can be had here is planned here: nobody lets it settle as if it were new.
void Town::check_loss(Home& home, const mesh::ContentKey& model) {
  auto& loss = home.losses.at(model);
  const auto view = home.allotter->view();
  if (!view || home.groups() == nullptr) return;
  const auto hosted = home.groups()->hosted().find(model);
  const bool planned =
      hosted != home.groups()->hosted().end() && hosted->second.plan().share_of(nodes_[loss.gone].id) == nullptr;
  const auto& own = nodes_[home.at].id;
  const auto& allocation = view->allocation;
  const bool is_host = std::ranges::any_of(allocation.splits, [&](const mesh::SplitDecision& split) {
    return split.model == model && split.plan.host == own && !split.waits;
  });
  const bool is_due = std::ranges::any_of(allocation.assignments, [&](const mesh::Assignment& line) {
    return line.model == model && line.node == own && line.part == mesh::Part::share && line.priority &&
           *line.priority != mesh::Priority::ordered && !line.waits && line.fetch == mesh::Fetch::none;
  });
  const auto& declined = home.node_state.declined;
  if (planned || !is_host || !is_due || std::ranges::find(declined, model) != declined.end()) {
    loss.could.reset();
    return;
  }
  if (!loss.could) loss.could = now_;
  if (now_ - *loss.could > kPlanned)
    fail("what is lost is planned anew at once", fmt::format("m{} at n{}", model_of(model), home.at));
}

// A group that somebody uses is left alone, whoever joins, unless its own nodes are in trouble or people say so.
void Town::check_reason_to_go(unsigned at, const mesh::ContentKey& model, const char* what) {
  const auto& home = *homes_[at];
  const auto found = nodes_[at].groups->hosted().find(model);
  if (found == nodes_[at].groups->hosted().end() || !found->second.is_running()) return;
  const auto last = home.used.find(model);
  if (last == home.used.end() || now_ - last->second >= kWorks || now_ - stirred_ < kAftermath) return;
  for (const auto& share : found->second.plan().split.shares) {
    const auto other = number_of(share.node);
    if (now_ - nodes_[other].troubled < kAftermath || !nodes_[other].runs()) return;
    const auto trouble = troubled_.find(std::minmax(at, other));
    if (trouble != troubled_.end() && now_ - trouble->second < kAftermath) return;
    if (other != at && is_troubled(at, other)) return;
  }
  fail("a group that is used is left alone", fmt::format("m{} at n{} is {}", model_of(model), at, what));
}

void Town::cause() {
  ++causes_;
  planned_.clear();
}

// By one host once for what has happened, and once more where that couldn't be: a plan that changes by itself would go
// on changing.
void Town::planned(unsigned at, const mesh::ContentKey& model) {
  ++plans_;
  const auto times = ++planned_[{at, model}];
  if (times > kForACause || plans_ > causes_)
    fail("plans change for what happens",
         fmt::format("m{} at n{}: {} times since something happened; {} plans for {} causes", model_of(model), at,
                     times, plans_, causes_));
}

// What nobody serves is told of, with why.
std::string Town::unexplained() const {
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    const auto view = homes_[at]->allotter->view();
    if (!view) return fmt::format("n{} has computed nothing", at);
    for (const auto& model : view->situation.models) {
      const auto number = model_of(model.content);
      const auto& unserved = view->allocation.unserved;
      const bool explained = std::ranges::find(unserved, model.content, &mesh::Unserved::model) != unserved.end();
      if (explained || is_served(number)) continue;
      std::string given = "nobody";
      for (const auto& line : view->allocation.assignments) {
        if (line.model != model.content) continue;
        given = fmt::format("n{} ({}, {}{})", number_of(line.node), name_of(line.part),
                            line.priority ? name_of(*line.priority) : "kept", line.waits ? ", waits" : "");
      }
      return fmt::format("m{} isn't served, says n{}, which doesn't say why; it is for {}", number, at, given);
    }
  }
  return {};
}

std::string Town::disagreement() const {
  const auto first = homes_[0]->allotter->view();
  for (unsigned at = 1; at < nodes_.size(); ++at) {
    const auto view = homes_[at]->allotter->view();
    if (view && first && view->allocation == first->allocation) continue;
    return fmt::format("n0 and n{}", at);
  }
  return {};
}

void Town::come_to_rest() {
  heal_all();
  rests_ = true;
  pass(Millis(60'000));
  for (int tries = 0; !outcome_.violation; ++tries) {
    const auto before = changes();
    pass(kRest);
    if (outcome_.violation || before == changes()) break;
    if (tries == kTries) return fail("without faults nothing changes", "models come and go for ever");
  }
  if (outcome_.violation) return;
  if (const auto found = disagreement(); !found.empty()) return fail("all nodes come to the same", found);
  if (const auto what = unexplained(); !what.empty()) return fail("every model is served or explained", what);
  std::string why;
  if (!stands(why)) fail("without faults every plan stands that nobody stands in the way of", why);
}

}  // namespace corral::fleet::allotment_simulation
