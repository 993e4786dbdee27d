#include "simulation/residency/witness.h"

#include <algorithm>

#include <fmt/format.h>

namespace corral::residency::simulation {
namespace {

bool may_be_retried(LoadFault fault) {
  return fault != LoadFault::file_not_found && fault != LoadFault::invalid && fault != LoadFault::never_fits;
}

}  // namespace

bool npu_agrees(const Animal& a, const Animal& b) {
  if (!has(a.device, Device::npu) || !has(b.device, Device::npu)) return true;
  const bool both_flm = std::string_view(a.recipe) == "flm" && std::string_view(b.recipe) == "flm";
  return both_flm && a.type != b.type;
}

void Witness::before(const Event& event, Now now) {
  now_ = now;
  order_before_ = order_;
  started_.reset();
  stopped_.clear();
  must_be_granted_.reset();
  must_wait_.reset();
  last_fault_.reset();
  lent_failed_ = false;
  event_ = &event;
  if (asked_ && now_.mono >= *asked_ + settings_.memory_wait) ledger_is_empty_ = true;
  waiting_before_ = owners_waiting();
  shrunk_now_.clear();
  relieved_now_.clear();
  stopped_now_.clear();
  for (auto& [id, child] : children_) child.was_lent = child.lent;
  queued_.clear();
  for (const Instance* load : core_.state().queue) queued_[animal_named(load->spec->name)] = load->spec;
  const auto* wanted_now = std::get_if<Acquire>(&event);
  if (const auto* wanted = wanted_now; wanted != nullptr && wanted->spec->origin == RequestOrigin::local)
    queued_.try_emplace(animal_named(wanted->spec->name), wanted->spec);
  if (const auto* wanted = std::get_if<Load>(&event)) {
    const std::size_t animal = animal_named(wanted->spec->name);
    const auto before = queued_.find(animal);  // what was promised to it was for those needs
    if (before != queued_.end() && before->second->memory != wanted->spec->memory && !wanted->spec->to_check)
      forget_promise(animal);
    const bool looked_at =
        wanted->spec->to_check && before != queued_.end() && before->second->options == wanted->spec->options;
    if (!looked_at) queued_[animal] = wanted->spec;
  }
  if (const auto* checked = std::get_if<LoadChecked>(&event)) {
    const auto load = core_.state().instances.find(checked->instance);
    if (load != core_.state().instances.end() && load->second->check == checked->check) {
      const std::size_t animal = animal_named(checked->spec->name);
      const bool is_lent = load->second.get() == core_.state().lending;
      if (!is_lent && queued_.at(animal)->memory != checked->spec->memory) forget_promise(animal);
      if (!is_lent) queued_[animal] = checked->spec;
    }
  }
  std::visit([this](const auto& e) { note(e); }, event);
}

void Witness::after(const Event&, const ActionList& actions, Now) {
  used_by_owner_.clear();
  given_to_owner_.clear();
  for (const Action& action : actions) std::visit([this](const auto& a) { see(a); }, action);
  if (must_be_granted_) {
    require(!tickets_.contains(must_be_granted_->first), "a request to a resident model is granted at once",
            "{} for {}", must_be_granted_->first.value(), kZoo[must_be_granted_->second].name);
  }
  if (must_wait_ && core_.state().instances.at(must_wait_->second)->state == InstanceState::draining) {
    for (const Action& action : actions) {
      const Granted* granted = std::get_if<Granted>(&action);
      require(granted == nullptr || granted->ticket != must_wait_->first, "a draining instance takes no newcomers",
              "{}", name(must_wait_->second));
    }
  }
  if (last_fault_ && last_fault_->rejected && may_be_retried(last_fault_->fault)) {
    Failures& failures = failures_[last_fault_->animal];
    failures.in_a_row = failures.options == last_fault_->options ? failures.in_a_row + 1 : 1;
    failures.options = last_fault_->options;
    const int over = failures.in_a_row - settings_.cooldown_after;
    const Millis wait = over < 0    ? Millis{0}
                        : over < 10 ? std::min(settings_.cooldown_first * (1 << over), settings_.cooldown_max)
                                    : settings_.cooldown_max;
    failures.cool_until = now_.mono + wait;
  }
  std::erase_if(returning_, [this](TicketId id) { return !tickets_.contains(id); });
  // What was found out for other options tells nothing, also when a later wish comes back to them.
  std::erase_if(looked_, [this](const auto& entry) {
    const auto load = core_.state().instances.find(entry.first);
    return load == core_.state().instances.end() || load->second->spec->options != entry.second.options;
  });
  std::erase_if(retrying_, [this](const auto& entry) { return !waits(entry.first); });
  follow_lent();
  check_queue_order();
  check_state();
  check_requests();
  check_limits();
  check_least_recently_used();
  check_passing();
  check_progress();
  check_patience();
  check_deadline();
  check_pinned_out();
  check_memory();
  check_idleness();
  check_relief();
  check_lent();
  check_lent_time();
  if (++steps_ % 16 == 0) check_snapshot();
}

void Witness::short_way(std::size_t animal, const std::optional<Core::Lease>& lease, Now now, RequestOrigin origin) {
  now_ = now;
  const Model* model = core_.state().find(ModelName(kZoo[animal].name));
  const bool serving = model != nullptr && model->current != nullptr &&
                       children_.at(model->current->id).phase == Child::Phase::up && !is_leaving(model->current->id);
  // For a lent one that its owner wants somebody may have to go, and peers leave some models alone.
  const bool may_refuse = serving && (origin == RequestOrigin::peer || children_.at(model->current->id).lent);
  require(serving == lease.has_value() || (may_refuse && !lease), "the short way grants exactly when Acquire would",
          "{}", kZoo[animal].name);
  if (!lease) return;
  if (origin == RequestOrigin::peer) {
    peers_.insert(lease->id);
    ++children_.at(lease->instance).peers;
  } else {
    check_stays_lent(children_.at(lease->instance));
  }
  require(leases_.emplace(lease->id, lease->instance).second, "leases are unique", "{}", lease->id.value());
  Child& child = children_.at(lease->instance);
  ++child.leases;
  use(child);
  begin(child);
}

void Witness::note(const Acquire& event) {
  if (event.spec->origin == RequestOrigin::peer) return;
  const Model* model = core_.state().find(event.spec->name);
  if (model == nullptr || model->current == nullptr) return;
  const Child& leaving = children_.at(model->current->id);
  if (is_leaving(leaving.id) && !leaving.aborted) returning_.insert(event.ticket);
  const Child& child = children_.at(model->current->id);
  if (child.phase == Child::Phase::up && !is_leaving(child.id)) must_be_granted_ = {event.ticket, child.animal};
  if (model->current->state == InstanceState::draining) must_wait_ = {event.ticket, model->current->id};
}

void Witness::note(const Load& event) {
  tickets_.at(event.ticket).after_unload = std::ranges::any_of(
      unloading_, [&](InstanceId id) { return children_.at(id).kind().name == event.spec->name.value(); });
}

void Witness::note(const CancelTicket& event) { tickets_.erase(event.ticket); }

void Witness::note(const Unload& event) {
  for (const auto& [id, child] : children_) {
    if (child.kind().name == event.model.value()) unloading_.insert(id);
  }
}

void Witness::note(const UnloadAll&) {
  for (const auto& [id, child] : children_) unloading_.insert(id);
}

void Witness::note(const EndInstance& event) {
  const auto child = children_.find(event.instance);
  if (child == children_.end()) return;
  unloading_.insert(event.instance);
  child->second.ended = true;
}

void Witness::note(const ReturnLease& event) {
  const auto lease = leases_.find(event.lease);
  if (lease == leases_.end()) return;
  Child& child = children_.at(lease->second);
  child.was_busy = is_leaving(child.id);
  if (peers_.erase(event.lease) > 0) {
    --child.peers;
  } else if (child.leases == child.peers + 1) {
    child.free_of_owner = now_.mono;
  }
  --child.leases;
  use(child);
  leases_.erase(lease);
}

void Witness::note(const LoadSucceeded& event) {
  const auto at = children_.find(event.instance);
  if (at == children_.end() || at->second.phase != Child::Phase::loading) return;
  Child& child = at->second;
  child.phase = Child::Phase::up;
  use(child);
  child.loaded = now_.mono;
  child.load_time = std::chrono::duration_cast<Millis>(now_.mono - child.load_started);
  changed({});
  failures_.erase(at->second.animal);
}

void Witness::note(const LoadFailed& event) { gone(event.instance, event.fault); }
void Witness::note(const InstanceDied& event) {
  const auto child = children_.find(event.instance);
  if (child != children_.end()) note_end(child->second, true);
  gone(event.instance, LoadFault::crashed);
}
void Witness::note(const InstanceStopped& event) {
  const auto child = children_.find(event.instance);
  if (child != children_.end()) note_end(child->second, false);
  gone(event.instance, LoadFault::crashed);
}
void Witness::note(const ChangeSettings& event) { settings_ = event.settings; }

void Witness::gone(InstanceId id, std::optional<LoadFault> fault) {
  const auto at = children_.find(id);
  if (at == children_.end()) return;
  const Child child = at->second;
  changed(child.holds());
  if (child.phase == Child::Phase::loading || child.aborted)
    unexplained_then_.fill(kPoolSize);  // it had taken only part
  std::erase_if(peers_, [&](LeaseId lease) { return leases_.at(lease) == id; });
  std::erase_if(leases_, [&](const auto& lease) { return lease.second == id; });
  children_.erase(at);
  unloading_.erase(id);
  const bool killed_for_deadline = child.aborted && child.reason == StopReason::deadline;
  if (child.phase != Child::Phase::loading && !killed_for_deadline) return;
  if (killed_for_deadline) fault = LoadFault::deadline;
  lent_failed_ = child.lent;
  if (child.lent) return;  // no failure of the owner's
  last_fault_ = LastFault{child.animal, child.options, *fault, false};
  if (child.attempt > 1 || !may_be_retried(*fault)) return;
  std::set<InstanceId>& others = retrying_[child.animal];
  for (const auto& [other, unused] : children_) others.insert(other);
}

}  // namespace corral::residency::simulation
