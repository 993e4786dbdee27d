// Memory, idleness, pressure, and the cap of the queue: when somebody may be told to shrink or to go for their sake,
// and when somebody must be.
#include <algorithm>

#include "residency/errors.h"
#include "simulation/residency/witness.h"

namespace corral::residency::simulation {
namespace {

// True when `bytes` are more than `left` in a pool that `holds` is part of.
bool exceeds(const Bytes2& bytes, const Bytes2& left, const Bytes2& holds) {
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    if (holds[i] > 0 && bytes[i] > 0 && bytes[i] > left[i]) return true;
  }
  return false;
}

bool exceeds(const Bytes2& bytes, const Bytes2& left) { return exceeds(bytes, left, bytes); }

bool at_least(const Bytes2& a, const Bytes2& b) {
  return std::ranges::equal(a, b, [](std::int64_t x, std::int64_t y) { return x >= y; });
}

Bytes2 all() {
  Bytes2 bytes;
  bytes.fill(kPoolSize);
  return bytes;
}

}  // namespace

// ---- books

void Witness::use(Child& child) {
  child.used_nth = ++uses_;
  child.last_use = now_.mono;
}

void Witness::begin(Child& child) {
  child.interrupted = true;
  if (child.shrunk) changed({});
  child.shrunk = false;
}

void Witness::changed(const Bytes2& given) {
  changed_since_ = true;
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    if (given[i] == 0) continue;
    const std::int64_t known = ledger_is_empty_ || sample_->mid_load ? kPoolSize : sample_->unexplained[i];
    const bool in_time = now_.mono < given_[i] + settings_.memory_wait;
    for (const Instance* load : core_.state().queue) {
      if (!in_time) waited_[animal_named(load->spec->name)][i] = true;
    }
    unexplained_then_[i] = in_time ? std::max(unexplained_then_[i], known) : known;
    given_[i] = now_.mono;
  }
}

void Witness::note(const Downsized& event) {
  const auto at = children_.find(event.instance);
  if (at == children_.end()) return;
  Child& child = at->second;
  child.shrinking = false;
  if (child.interrupted) return;
  child.shrunk = true;
  changed(child.footprint.dynamic);
}

void Witness::note(const DownsizeFailed& event) {
  const auto at = children_.find(event.instance);
  if (at == children_.end()) return;
  at->second.shrinking = false;
  if (!at->second.interrupted) at->second.refused_at = at->second.used_nth;
}

void Witness::note(const MemorySampled& event) {
  Sample sample{.time = now_.mono, .blind = event.pools.empty()};
  for (std::size_t i = 0; i < event.pools.size(); ++i) {
    sample.available[i] = static_cast<std::int64_t>(event.pools[i].available);
  }
  sample.unexplained = all() - sample.available;
  for (const auto& [id, child] : children_) {
    sample.mid_load |= child.phase == Child::Phase::loading || child.aborted;
    sample.unexplained = sample.unexplained - smaller(memory_.held(id), child.holds());
  }
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    const bool in_time = now_.mono < given_[i] + settings_.memory_wait;
    if (in_time) sample.unexplained[i] -= memory_.promised()[i];
    if (ledger_is_empty_ || sample.blind) unexplained_then_[i] = kPoolSize;
    const bool known_before = in_time && sample.unexplained[i] == unexplained_then_[i];
    doubtful_[i] = memory_.promised()[i] > 0 && (doubtful_[i] || !known_before);
    sample.blurred |= doubtful_[i];
    sample.blurred |= memory_.available()[i] < 0;  // more is used than the sample can say
  }
  sample_ = sample;
  ledger_is_empty_ = sample.blind;
  changed_since_ = false;
  asked_.reset();
}

// ---- what is asked in several rules

// As far as anybody may count on it: who doesn't answer for long may never do so.
bool Witness::is_shrinking(const Child& child) const {
  return child.shrinking && !child.interrupted && now_.mono < child.shrink_sent + settings_.memory_wait;
}

// What it gives up when it goes, besides what it gives up already.
Bytes2 Witness::gives(const Child& child) const {
  return is_shrinking(child) ? child.footprint.whole - child.footprint.dynamic : child.holds();
}

// What children are predicted to hold that don't stop, without what they are about to give up.
Bytes2 Witness::claimed(const Child* but) const {
  Bytes2 bytes{};
  for (const auto& [id, child] : children_) {
    if (&child == but || child.phase == Child::Phase::stopping) continue;
    bytes = bytes + gives(child);
  }
  return bytes;
}

bool Witness::opted_in(const Child& child) const { return core_.state().instances.at(child.id)->eviction.auto_evict; }

bool Witness::could_shrink(const Child& child) const {
  return child.phase == Child::Phase::up && child.leases == 0 && opted_in(child) && !child.shrunk && !child.shrinking &&
         child.refused_at != child.used_nth && !is_pinned(child);
}

bool Witness::may_shrink(const Child& child) const { return could_shrink(child) && !is_leaving(child.id); }

bool Witness::is_idle(const Child& child) const {
  return child.phase == Child::Phase::up && child.leases == 0 && !is_leaving(child.id);
}

double Witness::score(const Child& child) const {
  const double idle = std::chrono::duration<double, std::milli>(now_.mono - child.last_use).count();
  const double weight = core_.state().instances.at(child.id)->eviction.evict_weight_factor;
  return idle / (std::max(1.0, double(child.load_time.count())) * weight);
}

// True when some load wouldn't fit if this child kept `holds`, all others doing as they are told.
bool Witness::is_wanted(const Child& child, const Bytes2& holds) const {
  if (!sample_ || sample_->blind) return false;
  Bytes2 left = all() - sample_->unexplained - claimed(&child) - holds;
  for (const auto& [id, other] : children_) {
    if (other.reason == StopReason::reload) left = left - other.holds();  // it comes again
  }
  const Bytes2 touched = child.known() ? holds : all();
  return std::ranges::any_of(core_.state().queue, [&](const Instance* load) {
    return load->attempt == 1 && exceeds(needed(*load->spec), left, touched);
  });
}

// The same for a memory that is to come well below the threshold.
bool Witness::is_under_pressure(const Child& child, const Bytes2& holds) const {
  if (!sample_ || sample_->blind || !std::holds_alternative<MemorySampled>(*event_)) return false;
  const Bytes2 used = sample_->unexplained + claimed(&child) + holds;
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    const auto share = [](std::int64_t bytes) { return double(bytes) / kPoolSize; };
    const bool above = share(kPoolSize - sample_->available[i]) > settings_.auto_evict_threshold_pct;
    const bool needed = share(used[i]) > settings_.auto_evict_threshold_pct - settings_.pressure_relief;
    if (above && needed && (holds[i] > 0 || !child.known())) return true;
  }
  return false;
}

// By what the core was told, and nothing has happened since.
bool Witness::fits_now(const ModelSpec& spec) const {
  if (spec.memory.empty()) return true;
  if (!sample_ || changed_since_ || now_.mono - sample_->time >= settings_.memory_poll) return false;
  return sample_->blind || !exceeds(needed(spec), sample_->available);
}

// ---- actions

void Witness::forget_promise(std::size_t animal) {
  promised_.erase(animal);
  waited_.erase(animal);
}

// Enough was given up for the load, and the time for it to come back is over.
bool Witness::is_promised(std::size_t animal, const Bytes2& need) const {
  const auto promise = promised_.find(animal);
  if (promise == promised_.end()) return false;
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    const bool is_short = need[i] > 0 && need[i] > sample_->available[i];
    if (is_short && (!promise->second[i] || now_.mono < given_[i] + settings_.memory_wait)) return false;
  }
  return true;
}

void Witness::check_admission(const StartLoad& action) const {
  if (action.spec->memory.empty() || (sample_ && sample_->blind)) return;
  if (asked_ && now_.mono - *asked_ >= settings_.memory_wait) return;  // nobody answers
  const char* name = kZoo[animal_named(action.spec->name)].name;
  require(sample_ && !changed_since_ && now_.mono - sample_->time < settings_.memory_poll,
          "a load starts by fresh news of the memory", "{}", name);
  if (action.attempt > 1 || fits_now(*action.spec)) return;
  const MonoTime queued = core_.state().instances.at(action.instance)->queued_at;
  if (returns(animal_named(action.spec->name)) && now_.mono >= queued + settings_.memory_wait) return;
  const Bytes2 need = needed(*action.spec);
  bool waited = false;
  const auto before = waited_.find(animal_named(action.spec->name));
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    const bool long_ago = now_.mono >= given_[i] + settings_.memory_wait;
    waited |= need[i] > sample_->available[i] && (long_ago || (before != waited_.end() && before->second[i]));
  }
  require(waited, "a load starts when its memory is free", "{}", name);
  Bytes2 left = all() - sample_->unexplained - claimed();
  for (const auto& [id, child] : children_) {
    if (automatic_may_stop(child) && child.phase != Child::Phase::stopping) left = left + gives(child);
  }
  require(exceeds(need, left) || !exceeds(need, all() - sample_->unexplained - claimed()),
          "a load starts in trust only if nobody is left to go", "{}", name);
}

void Witness::see(const Downsize& action) {
  Child& child = children_.at(action.instance);
  require(opted_in(child), "without auto_evict nothing happens by itself", "{} is downsized", child.kind().name);
  require(!is_pinned(child), "no pinned instance is downsized", "{}", child.kind().name);
  require(is_idle(child) && !child.shrunk && !child.shrinking, "only idle and whole instances are downsized, once",
          "{}", child.kind().name);
  require(child.refused_at != child.used_nth, "an instance that can't be downsized isn't asked again", "{}",
          child.kind().name);
  child.shrinking = true;
  child.shrink_sent = now_.mono;
  child.interrupted = false;
  shrunk_now_.push_back(child.id);
}

// Looked at when all that happens in the step is known.
void Witness::check_shrink(const Child& child) const {
  const Instance& instance = *core_.state().instances.at(child.id);
  const bool literal = std::holds_alternative<SimulatePressure>(*event_);
  const Millis timeout = instance.eviction.downsize_idle_timeout;
  const Millis quiet = literal ? timeout : std::max(timeout, settings_.idle_floor);
  const bool due = timeout >= Millis{0} && now_.mono >= child.last_use + quiet;
  const bool old = now_.mono >= child.loaded + settings_.pressure_grace;
  Bytes2 keeps = child.holds();  // with those who went after it, under pressure
  for (InstanceId id : stopped_now_) {
    if (children_.at(id).reason == StopReason::pressure) keeps = keeps + children_.at(id).holds();
  }
  require(due || is_wanted(child, keeps) || (old && is_under_pressure(child, child.holds())) ||
              (sample_ && sample_->blurred),
          "an instance is downsized for a cause", "{}", child.kind().name);
}

void Witness::check_stop(const Child& child, StopReason reason) const {
  if (reason == StopReason::shutdown) return;
  const bool by_itself = reason == StopReason::idle || reason == StopReason::pressure;
  require(!by_itself || opted_in(child), "without auto_evict nothing happens by itself", "{} goes: {}",
          child.kind().name, name_of(reason));
  const bool literal = std::holds_alternative<SimulatePressure>(*event_);
  if (reason == StopReason::idle) {
    const Millis timeout = core_.state().instances.at(child.id)->eviction.evict_idle_timeout;
    require(now_.mono >= child.last_use + (literal ? timeout : std::max(timeout, settings_.idle_floor)),
            "a model goes after its timeout", "{}", child.kind().name);
  }
  if (reason == StopReason::pressure && !literal) {
    require(now_.mono >= child.loaded + settings_.pressure_grace, "no pressure in the first seconds", "{}",
            child.kind().name);
  }
}

void Witness::see(const SampleMemory&) {
  require(!asked_ || now_.mono >= *asked_ + settings_.memory_wait, "one sample at a time", "asked again");
  asked_ = now_.mono;
}

void Witness::see(const Relieved& action) { answered(action.ticket, {Ticket::Kind::simulate}); }

void Witness::check_refusal(const Ticket& ticket, const Error& error) const {
  if (error.code == errc::queue_full) {
    require(owners_waiting() >= settings_.max_queued, "the queue is full when it is", "{}", kZoo[ticket.animal].name);
  }
  const bool never = error.code == errc::insufficient_memory;
  const bool for_now = error.code == errc::memory_in_use;
  const bool pinned = error.code == errc::slots_pinned && !error.memory.empty();
  if (!never && !for_now && !pinned) return;
  // In the step in which another's options failed its own may turn out not to fit either; nobody knows yet which they
  // are.
  if (!queued_.contains(ticket.animal) || std::holds_alternative<CheckFailed>(*event_)) {
    require(last_fault_ || lent_failed_ || std::holds_alternative<CheckFailed>(*event_),
            "refused for memory that is known", "{}", kZoo[ticket.animal].name);
    return;
  }
  if (queued_.at(ticket.animal)->options != ticket.options) return;
  const Bytes2 need = needed(*queued_.at(ticket.animal));
  Bytes2 left = all();
  require(never || !exceeds(need, left), "what never fits is refused for good", "{}", kZoo[ticket.animal].name);
  require(!for_now || !is_promised(ticket.animal, need), "who waited for memory loads in trust", "{}",
          kZoo[ticket.animal].name);
  if (!never) {
    left = left - sample_->unexplained;
    for (const auto& [id, child] : children_) {
      if (child.animal == ticket.animal || automatic_may_stop(child)) continue;
      left = left - (may_shrink(child) ? child.footprint.whole - child.footprint.dynamic : gives(child));
    }
  }
  require(exceeds(need, left) || (!never && sample_->blurred), "refused for memory only if it doesn't fit", "{}",
          kZoo[ticket.animal].name);
}

// ---- after every step

void Witness::check_memory() {
  const State& state = core_.state();
  if (std::holds_alternative<Acquire>(*event_) || std::holds_alternative<Load>(*event_)) {
    require(owners_waiting() <= std::max<std::size_t>(settings_.max_queued, waiting_before_), "the queue has a cap",
            "{} wait", owners_waiting());
  }
  for (InstanceId id : shrunk_now_) check_shrink(children_.at(id));
  for (InstanceId id : relieved_now_) check_relieved(children_.at(id));
  const bool wanted = std::ranges::any_of(children_, [this](const auto& entry) {
    return entry.second.phase != Child::Phase::stopping && opted_in(entry.second);
  });
  require(watching_ == wanted, "the memory is watched exactly while somebody opted in", "{}", watching_);
  for (const auto& [id, child] : children_) {
    require(state.instances.at(id)->shrunk == child.shrunk, "books agree", "{} is downsized", child.kind().name);
  }
  std::erase_if(promised_, [this](const auto& entry) { return !waits(entry.first); });
  std::erase_if(waited_, [this](const auto& entry) { return !waits(entry.first); });
  for (const Instance* load : state.queue) {
    if (!load->waits_for.empty()) forget_promise(animal_named(load->spec->name));
  }
  const bool all_up = std::ranges::all_of(children_, [](const auto& c) { return c.second.phase == Child::Phase::up; });
  if (all_up && !order_.empty() && sample_ && !sample_->blind && !sample_->blurred && !changed_since_) {
    const Instance& first = *state.instances.at(order_.front());
    const Bytes2 need = needed(*first.spec);
    const bool settles = exceeds(need, sample_->available) && !exceeds(need, all() - sample_->unexplained - claimed());
    if (settles && first.attempt == 1 && first.waits_for.empty()) {
      for (std::size_t i = 0; i < kPoolCount; ++i) {
        promised_[animal_named(first.spec->name)][i] = need[i] > sample_->available[i];
      }
    }
  }
  // Whoever is first, and waits for nobody who is busy, loads or is refused after a while.
  const bool quiet = std::ranges::all_of(children_, [this](const auto& entry) {
    const Child& child = entry.second;
    return child.phase == Child::Phase::up && child.leases == 0 && !is_shrinking(child);
  });
  if (!quiet || order_.empty() || looks_.contains(order_.front())) {
    stuck_since_.reset();
  } else if (!stuck_since_) {
    stuck_since_ = now_.mono;
  }
  if (!stuck_since_) return;
  require(now_.mono <= *stuck_since_ + 4 * settings_.memory_wait, "no load waits for memory for ever", "{}",
          name(order_.front()));
}

// The fewest that do go, and the most disposable of them.
void Witness::check_relieved(const Child& child) const {
  const bool for_load = child.reason == StopReason::memory;
  // Who was told after it, for a load behind, wasn't reckoned with.
  Bytes2 others{};
  for (auto at = std::ranges::find(stopped_now_, child.id); at != stopped_now_.end(); ++at) {
    const Child& later = children_.at(*at);
    if (later.reason != StopReason::memory && later.reason != StopReason::pressure) others = others + later.holds();
  }
  for (InstanceId id : shrunk_now_) others = others + (children_.at(id).holds() - gives(children_.at(id)));
  const Bytes2 keeps = others + gives(child);
  const bool cause = for_load ? is_wanted(child, keeps) : is_under_pressure(child, keeps);
  require(cause || sample_->blurred, "nobody goes for memory who could stay", "{}: {}", child.kind().name,
          name_of(child.reason));
  if (for_load) check_lent_first(child);
  if (child.was_busy || !child.known() || sample_->blurred) return;
  check_downsizing_first(child, others);
  for (const auto& [id, other] : children_) {
    if (!is_idle(other) || !other.known() || !automatic_may_stop(other)) continue;
    if (!for_load && (!opted_in(other) || now_.mono < other.loaded + settings_.pressure_grace)) continue;
    require(score(other) <= child.score_at_stop || !at_least(gives(other), gives(child)), "the most disposable goes",
            "{} rather than {}", child.kind().name, other.kind().name);
  }
}

// Nobody idle goes where downsizing others is enough.
void Witness::check_downsizing_first(const Child& gone, const Bytes2& others) const {
  const bool for_load = gone.reason == StopReason::memory;
  Bytes2 used = sample_->unexplained + others;
  for (const auto& [id, child] : children_) {
    const bool now = std::ranges::find(relieved_now_, id) != relieved_now_.end();
    if (child.phase == Child::Phase::stopping && !now) continue;
    const bool open = for_load || now_.mono >= child.loaded + settings_.pressure_grace;
    const bool could = open && (now ? child.could_shrink : may_shrink(child));
    used = used + (could ? child.footprint.whole - child.footprint.dynamic : gives(child));
  }
  bool enough = false;
  if (for_load) {
    enough = std::ranges::none_of(core_.state().queue, [&](const Instance* load) {
      return load->attempt == 1 && exceeds(needed(*load->spec), all() - used);
    });
  } else {
    const double max = kPoolSize * (settings_.auto_evict_threshold_pct - settings_.pressure_relief);
    enough = std::ranges::all_of(used, [&](std::int64_t bytes) { return double(bytes) <= max; });
  }
  require(!enough, "nobody goes where downsizing is enough", "{}", gone.kind().name);
}

void Witness::check_idleness() const {
  for (const auto& [id, child] : children_) {
    if (!is_idle(child) || !opted_in(child)) continue;
    const EvictionSettings& eviction = core_.state().instances.at(id)->eviction;
    const auto past = [&](Millis timeout) {
      return timeout >= Millis{0} && now_.mono > child.last_use + std::max(timeout, settings_.idle_floor);
    };
    require(!past(eviction.evict_idle_timeout) || is_pinned(child), "an idle model goes in time", "{}",
            child.kind().name);
    require(!may_shrink(child) || !past(eviction.downsize_idle_timeout), "an idle model is downsized in time", "{}",
            child.kind().name);
  }
}

// After news of a memory above the threshold nobody is left who could help, unless enough is on its way.
void Witness::check_relief() const {
  if (!std::holds_alternative<MemorySampled>(*event_) || sample_->blind) return;
  Bytes2 used = all() - sample_->available;
  for (const auto& [id, child] : children_) {
    if (child.phase == Child::Phase::stopping && !child.known()) return;
    if (child.phase == Child::Phase::stopping) used = used - child.holds();
    if (child.phase == Child::Phase::up) used = used - (child.holds() - gives(child));
  }
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    if (double(used[i]) <= kPoolSize * settings_.auto_evict_threshold_pct) continue;
    if (now_.mono < given_[i] + settings_.memory_wait) continue;
    for (const auto& [id, child] : children_) {
      const bool open = is_idle(child) && opted_in(child) && automatic_may_stop(child) &&
                        now_.mono >= child.loaded + settings_.pressure_grace;
      require(!open || child.holds()[i] == 0, "pressure is relieved", "{} stays", child.kind().name);
    }
  }
}

// What is made free for a load isn't taken by one that passes it.
void Witness::check_passed_memory(const Instance& ahead) const {
  const ModelSpec& passer = *core_.state().instances.at(*started_)->spec;
  if (passer.memory.empty() || ahead.spec->memory.empty() || ledger_is_empty_) return;
  Bytes2 after = all() - sample_->unexplained - claimed();
  for (InstanceId id : ahead.waits_for) {
    const auto victim = children_.find(id);
    const bool stays = victim != children_.end() && victim->second.phase != Child::Phase::stopping;
    if (stays) after = after + gives(victim->second);
  }
  const Bytes2 need = needed(*ahead.spec);
  require(!exceeds(need, after, needed(passer)) || exceeds(need, after + needed(passer)),
          "who passes leaves the memory", "{} passes {}", name(*started_), ahead.spec->name.value());
}

}  // namespace corral::residency::simulation
