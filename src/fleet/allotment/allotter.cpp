#include "fleet/allotment/allotter.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "fleet/allotment/allot_split.h"
#include "fleet/base/errors.h"
#include "fleet/base/own_names.h"
#include "fleet/base/renamed_keys.h"
#include "mesh/catalog/hashed_since.h"
#include "mesh/catalog/split_orders.h"

namespace corral::fleet {

using async::Task;
using mesh::ContentKey;

namespace {

constexpr Millis kTakeBack{30'000};  // between two attempts to recall a share
constexpr Millis kCopyAgain{60'000};

}  // namespace

Allotter::Allotter(async::Executor executor, AllotterParts parts, AllotterOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      executor_(executor),
      losses_(parts_.own, marks_),
      tasks_(executor) {}

void Allotter::start() {
  marks_.read(parts_.kept, now());
  if (!options_.assigned_at_start.empty()) marks_.assign_at_start(options_.assigned_at_start);
  look();
}

Task<void> Allotter::stop() {
  stopped_ = true;
  alive_.reset();
  tasks_.cancel();
  co_await tasks_.join();
}

void Allotter::change(AllotterOptions options) {
  options_ = std::move(options);
  look();
}

// Combines all changes of a moment.
void Allotter::look() {
  if (stopped_ || std::exchange(looking_, true)) return;
  tasks_.spawn("mesh: allocation", look_soon());
}

void Allotter::assign(std::optional<AllotMarks::Named> model) {
  marks_.assign(std::move(model));
  keep();
}

void Allotter::release() {
  marks_.release();
  keep();
}

void Allotter::unload(std::span<const ContentKey> models) {
  for (const auto& model : models) marks_.unload(model, now());
  if (!models.empty()) keep();
}

bool Allotter::is_assigned(const ContentKey& model) const {
  const auto& order = marks_.order();
  return order && order->model && order->model->content == model;
}

std::string Allotter::named(const mesh::Catalog& catalog, const ContentKey& model) const {
  return own_name(catalog, model, parts_.own);
}

Task<void> Allotter::look_soon() {
  // In a mesh of a thousand nodes a computation takes long; the loop keeps most of its time for other work.
  const auto next = last_ + std::max<MonoClock::duration>(kBetween, 20 * cost_);
  if (next > now()) {
    co_await parts_.timers.sleep_until(next);
  } else {
    co_await async::asio::post(executor_, async::use_task);
  }
  looking_ = false;
  last_ = now();
  if (stopped_) co_return;
  compute();
  cost_ = now() - last_;
}

Task<void> Allotter::look_later() {
  co_await parts_.timers.sleep_for(kWaiting);
  later_ = false;
  look();
}

void Allotter::compute() {
  const auto catalog = parts_.catalog();
  if (!catalog) return;
  const auto lost = parts_.groups != nullptr ? parts_.groups->lost() : std::vector<mesh::NodeId>();
  auto made = std::make_shared<Allotment>();
  made->situation = make_situation(*catalog, now(), lost);
  made->rules.idle_unload = options_.idle_unload;
  const bool lossy = note_losses(*catalog, lost);
  const bool marked = marks_.heed(*catalog, made->situation, now()) || lossy;
  made->allocation = allocate(made->situation, made->rules);
  const bool view_changed =
      !view_ || view_->allocation != made->allocation || !have_same_room(view_->situation, made->situation);
  view_ = std::move(made);
  act(*catalog);
  if (marked) changed();
  if (parts_.on_look) parts_.on_look();
  if (view_changed && parts_.on_new_view) parts_.on_new_view();
  if (has_time_left() && !std::exchange(later_, true)) tasks_.spawn("mesh: allocation later", look_later());
}

// Something changes with time, which no event reports.
bool Allotter::has_time_left() const {
  const bool gone = std::ranges::any_of(view_->situation.nodes, &mesh::AllocationNode::just_gone);
  return waits_ || gone || marks_.is_waiting() || !unplanned_.empty();
}

const mesh::AllocationNode* Allotter::own_node() const {
  const auto& nodes = view_->situation.nodes;
  const auto own = std::ranges::find(nodes, parts_.own, &mesh::AllocationNode::id);
  return own == nodes.end() ? nullptr : &*own;
}

// A new node without an announcement may serve or hold what seems to be missing.
bool Allotter::has_silent_node(const mesh::Catalog& catalog) const {
  return std::ranges::any_of(catalog.nodes(), [&](const mesh::KnownNode& node) {
    if (!mesh::is_routable(node.reach)) return false;
    const bool silent = !node.node_state || node.node_state->looking;
    return silent && (node.reach == mesh::Reach::own || now() - node.since < kFirstWords);
  });
}

// Whether the line has been the same for long enough.
bool Allotter::is_due(const Line& line, bool at_once) {
  const auto before = lines_before_.find(line);
  const auto since = before != lines_before_.end() ? before->second : now();
  lines_.emplace(line, since);
  const auto shown = shown_by_.find(line);
  const bool due = at_once || (settled_ && now() - since >= kSettle);
  if (due && (shown == shown_by_.end() || shown->second <= now())) return true;
  waits_ = true;
  return false;
}

void Allotter::act(const mesh::Catalog& catalog) {
  waits_ = false;
  lines_before_ = std::exchange(lines_, {});
  std::erase_if(shown_by_, [this](const auto& one) { return one.second <= now(); });
  const auto* own = own_node();
  if (own == nullptr || catalog.node(parts_.own)->node_state->looking) return;
  settled_ = !has_silent_node(catalog);
  waits_ = !settled_;
  const auto& allocation = view_->allocation;
  for (const auto& line : allocation.unloads)
    if (line.node == parts_.own) act_on(catalog, line);
  // First, because a hosted group prevents other loads of its model.
  end_groups();
  for (const auto& line : allocation.assignments)
    if (line.node == parts_.own && line.priority) act_on(catalog, line);
  use_again(catalog);
}

void Allotter::act_on(const mesh::Catalog& catalog, const mesh::Assignment& line) {
  const bool ordered = line.priority == mesh::Priority::ordered;
  // An order for something impossible remains, and is retried with the same pauses.
  const bool waits = line.waits || marks_.declines(line.model);
  waits_ = waits_ || waits;
  if (waits) return;
  if (line.part == mesh::Part::share) {
    const auto& splits = view_->allocation.splits;
    const auto split = std::ranges::find(splits, line.model, &mesh::SplitDecision::model);
    if (split == splits.end() || split->plan.host != parts_.own) return;
    waits_ = waits_ || split->waits;
    if (split->waits) return;
    // Requests can't load a split model, so a lost group needs no time to settle.
    const bool at_once = ordered || losses_.is_lost(line.model);
    if (line.fetch == mesh::Fetch::none && is_due({line.model, LineAction::host}, at_once)) host(*split, ordered);
  }
  if (line.part == mesh::Part::standby || loading_) return;
  if (line.fetch == mesh::Fetch::copy) {
    if (parts_.copy && is_due({line.model, LineAction::copy}, ordered)) copy(catalog, line.model, ordered);
  } else if (line.fetch == mesh::Fetch::none && line.part != mesh::Part::share) {
    const auto name = named(catalog, line.model);
    const bool due = !name.empty() && is_due({line.model, LineAction::load}, ordered);
    // Its own group would refuse the load.
    const bool held = due && is_hosted(line.model);
    waits_ = waits_ || held;
    if (due && !held) load(line.model, name);
  }
}

void Allotter::act_on(const mesh::Catalog& catalog, const mesh::Unload& line) {
  // The core unloads recalled models.
  if (line.cause == mesh::UnloadCause::recalled) return;
  const auto* own = own_node();
  const auto held = std::ranges::find(own->holds, line.model, &mesh::HeldModel::model);
  if (held == own->holds.end() || held->draining) return;
  const bool ordered = line.cause == mesh::UnloadCause::ordered;
  if (!is_due({line.model, LineAction::give_back}, ordered)) return;
  const bool idle = line.cause == mesh::UnloadCause::idle;
  if (held->use == mesh::HeldModel::Use::share) {
    if (parts_.groups == nullptr) return;
    if (held->host == parts_.own) {
      log::info("mesh", "{}", line.why);
      if (idle) marks_.rest(line.model, now());
      losses_.ended(line.model);
      shown_by_[{line.model, LineAction::give_back}] = now() + kShows;
      parts_.groups->end(line.model);
      if (idle) changed();
      return;
    }
    // The host has no line for this share: a recall makes it drain its engine.
    const bool elsewhere = line.cause == mesh::UnloadCause::wanted_elsewhere;
    if ((elsewhere || (own->order && own->order->model != line.model)) && (!take_back_ || now() >= *take_back_)) {
      log::info("mesh", "{}", line.why);
      take_back_ = now() + kTakeBack;
      parts_.groups->take_back();
    }
    return;
  }
  const auto name = named(catalog, line.model);
  if (name.empty()) return;
  shown_by_[{line.model, LineAction::give_back}] = now() + kShows;
  const auto least = ordered ? Millis(0) : idle ? options_.idle_unload - AllotLosses::kIdleSlack : view_->rules.quiet;
  parts_.actions.unload(ModelName(name), least, ordered,
                        [this, alive = std::weak_ptr(alive_), model = line.model, idle, why = line.why](bool gone) {
                          if (alive.expired()) return;
                          shown_by_[{model, LineAction::give_back}] = now() + (gone ? kShows : kWaiting);
                          if (!gone) return;
                          log::info("mesh", "{}", why);
                          losses_.given_back(model);
                          if (idle) marks_.rest(model, now());
                          if (idle) changed();
                          look();
                        });
}

void Allotter::load(const ContentKey& model, const std::string& name) {
  loading_ = model;
  log::info("mesh", "loading '{}' for the mesh", name);
  parts_.actions.load(ModelName(name), [this, alive = std::weak_ptr(alive_), model, name](Result<> loaded) {
    if (alive.expired()) return;
    loading_.reset();
    if (loaded) {
      marks_.loaded(model);
      losses_.loaded(model);
      shown_by_[{model, LineAction::load}] = now() + kShows;
    } else {
      log::warning("mesh", "can't load '{}' for the mesh: {}", name, loaded.error().message);
      marks_.decline(model, now());
    }
    changed();
    look();
  });
}

void Allotter::copy(const mesh::Catalog& catalog, const ContentKey& model, bool ordered) {
  if (model.pending) return;  // it is being hashed, and will have another key
  const auto found = std::ranges::find(catalog.models(), model, &mesh::MeshModel::content);
  if (found == catalog.models().end()) return;
  shown_by_[{model, LineAction::copy}] = now() + kCopyAgain;
  if (const auto accepted = parts_.copy(*found, ordered); !accepted) {
    log::warning("mesh", "can't copy '{}' to this node: {}", found->name, accepted.error().message);
    marks_.decline(model, now());
    changed();
  }
}

// New plans differ with free memory; a plan that still works is kept.
void Allotter::host(const mesh::SplitDecision& decision, bool ordered) {
  if (parts_.groups == nullptr) return;
  // This node's announced state may still contain an order that has been withdrawn.
  const auto& models = view_->situation.models;
  const auto model = std::ranges::find(models, decision.model, &mesh::AllocationModel::content);
  const bool own_order = model != models.end() && model->split_host == parts_.own;
  const bool by_hand = ordered && marks_.is_split(decision.model);
  if (ordered && own_order && !by_hand) return;
  const auto hosted = parts_.groups->hosted();
  const auto at =
      std::ranges::find_if(hosted, [&](const HostedGroup& group) { return group.plan.model == decision.model; });
  auto cause = ordered                           ? mesh::PlanCause::ordered
               : losses_.is_lost(decision.model) ? mesh::PlanCause::loss
                                                 : mesh::PlanCause::demand;
  if (at != hosted.end()) {
    const bool lost = !parts_.groups->lost(decision.model).empty();
    const auto just_gone = [&](const mesh::SplitShare& share) {
      return std::ranges::any_of(view_->situation.nodes,
                                 [&](const auto& node) { return node.id == share.node && node.just_gone; });
    };
    if (!lost && std::ranges::any_of(at->plan.split.shares, just_gone)) return;
    if (!lost && still_does(at->plan.split, decision.plan, view_->situation)) return;
    if (lost) cause = mesh::PlanCause::loss;
  }
  log::info("mesh", "planned a split: {}", in_words(decision.plan));
  // If the ordered host is another node that can't host, this node hosts for the mesh. Only orders to this node count
  // as the owner's.
  parts_.groups->want({decision.model, decision.plan}, cause, by_hand);
  losses_.hosted(decision.model);
}

bool Allotter::is_hosted(const ContentKey& model) const {
  if (parts_.groups == nullptr) return false;
  return std::ranges::any_of(parts_.groups->hosted(), [&](const auto& group) { return group.plan.model == model; });
}

// Ends groups without running parts that are no longer planned here.
void Allotter::end_groups() {
  if (parts_.groups == nullptr) return;
  std::set<ContentKey> idle;
  for (const auto& group : parts_.groups->hosted()) {
    if (group.state != mesh::GroupHost::State::waiting) continue;
    const auto& splits = view_->allocation.splits;
    const bool planned = std::ranges::any_of(splits, [&](const mesh::SplitDecision& split) {
      return split.model == group.plan.model && split.plan.host == parts_.own;
    });
    if (!planned) idle.insert(group.plan.model);
  }
  std::erase_if(unplanned_, [&](const auto& one) { return !idle.contains(one.first); });
  for (const auto& model : idle) {
    const auto patience = parts_.groups->lost(model).empty() ? kGroupEnds : kSettle;
    if (now() - unplanned_.try_emplace(model, now()).first->second < patience) continue;
    losses_.ended(model);
    parts_.groups->end(model);
  }
}

// Ordered models aren't unloaded for idleness.
void Allotter::use_again(const mesh::Catalog& catalog) {
  const auto& order = marks_.order();
  if (!order || !order->model || !order->model->content || loading_) return;
  const auto used = losses_.last_use_of_lent(*order->model->content);
  if (!used) return;
  waits_ = true;  // no event reports that time has passed
  const auto often = options_.idle_unload / 2;
  if (now() - *used < often || (used_again_ && now() < *used_again_)) return;
  used_again_ = now() + kWaiting;
  const auto name = named(catalog, *order->model->content);
  if (!name.empty()) parts_.actions.load(ModelName(name), [](const Result<>&) {});
}

// True: the marks have changed.
bool Allotter::note_losses(const mesh::Catalog& catalog, std::span<const mesh::NodeId> lost) {
  mesh::HashedSince hashed(catalog);
  losses_.follow_hashes(hashed);
  rename_keys(hashed, unplanned_);
  losses_.look_at_groups(catalog, hashed, lost, now());
  const bool marked = note_lost_groups();
  return losses_.look_at_models(catalog, parts_.lent(), options_.idle_unload, now()) || marked;
}

bool Allotter::note_lost_groups() {
  return parts_.groups != nullptr && losses_.look_at_hosted(*parts_.groups, options_.idle_unload, now());
}

void Allotter::add_to(mesh::NodeState& node_state) const {
  marks_.add_to(node_state);
  if (parts_.groups != nullptr) add_groups(*parts_.groups, parts_.own, options_.idle_unload, node_state);
}

// The group that holds the model over exactly these nodes, or starts to; none of its nodes is lost.
std::optional<HostedGroup> Allotter::group_over(const ContentKey& model, const std::vector<mesh::NodeId>& nodes) const {
  if (parts_.groups == nullptr || !parts_.groups->lost(model).empty()) return std::nullopt;
  for (auto& group : parts_.groups->hosted()) {
    const bool holds = group.plan.model == model && group.state != mesh::GroupHost::State::waiting;
    if (holds && group.plan.nodes() == nodes) return std::move(group);
  }
  return std::nullopt;
}

Result<> Allotter::split(const ContentKey& model, std::vector<mesh::NodeId> nodes, std::uint64_t asked) {
  std::ranges::sort(nodes);
  const auto catalog = parts_.catalog();
  if (!catalog) return fail(errc::no_mesh, "this node is in no mesh");
  // An existing group stays as it is, and is marked. Predictions change all the time.
  const auto there = group_over(model, nodes);
  auto planned = there ? Result<mesh::SplitPlan>(there->plan.split)
                       : plan_by_hand(make_situation(*catalog, now()), model, nodes, parts_.own);
  if (!planned) return std::unexpected(planned.error());
  (void)note_lost_groups();  // otherwise this order would end with the previous group
  losses_.ordered(model);
  marks_.split({model, std::move(nodes), mesh::next_stamp(*catalog, model, asked)});
  // The allocation doesn't replace a working group over other nodes, so this is done here.
  if (parts_.groups != nullptr && planned->host == parts_.own) {
    for (const auto& group : parts_.groups->hosted())
      if (group.plan.model == model) parts_.groups->want({model, *planned}, mesh::PlanCause::ordered, true);
  }
  changed();
  look();
  return {};
}

// The group ends with its order, as another node may get the model: there must not be two groups of one model.
void Allotter::end_split(const ContentKey& model) {
  marks_.end_split(model);
  if (is_hosted(model)) {
    losses_.ended(model);
    parts_.groups->end(model);
  }
  changed();
  look();
}

void Allotter::keep() {
  if (parts_.keep) parts_.keep(marks_.text());
  changed();
  look();
}

void Allotter::changed() {
  if (!stopped_ && parts_.on_change) parts_.on_change();
}

}  // namespace corral::fleet
