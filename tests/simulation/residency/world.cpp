#include "simulation/residency/world.h"

#include <exception>

#include <fmt/format.h>

namespace corral::residency::simulation {
namespace {

const std::set<ModelName> kPins{};

Error broken(const char* why) { return {std::make_error_code(std::errc::io_error), why}; }

template <typename Map>
const auto* nth(const Map& map, std::size_t n) {
  return map.empty() ? nullptr : &*std::next(map.begin(), static_cast<std::ptrdiff_t>(n % map.size()));
}

}  // namespace

World::World(bool with_trace)
    : with_trace_(with_trace),
      core_({}, kPins),
      witness_(core_, memory_, {}, kPins),
      now_{MonoTime{} + std::chrono::hours(1), WallTime{} + std::chrono::hours(1000)} {}

void World::apply(const Op& op) {
  using enum Op::Kind;
  if (with_trace_) trace(fmt::format("{:>8} {}", since_birth(), describe(op)));
  const ModelName name(kZoo[op.animal].name);
  const std::uint64_t options = op.kind == load ? op.options : 0;
  const Ticket ticket{.animal = op.animal, .options = options, .hold = Millis{op.ms}};
  switch (op.kind) {
    case acquire:
      return this->acquire(op, RequestOrigin::local);
    case peer:
      return this->acquire(op, RequestOrigin::peer);
    case share: {
      Ticket asked = ticket;
      asked.peer = true;
      return ask(asked, [&](TicketId id) { return Acquire{id, spec_of_load(op, 0, RequestOrigin::peer)}; });
    }
    case end: {
      const Model* model = core_.state().find(name);
      const Instance* instance = model == nullptr            ? nullptr
                                 : model->current != nullptr ? model->current
                                                             : model->pending;
      if (instance == nullptr) return;
      Ticket asked = ticket;
      asked.kind = Ticket::Kind::unload;
      return ask(asked, [&](TicketId id) { return EndInstance{id, instance->id}; });
    }
    case load: {
      const std::optional<bool> pin = op.choice == 0 ? std::nullopt : std::optional(op.choice == 1);
      Ticket asked = ticket;
      asked.kind = Ticket::Kind::load;
      return ask(asked, [&](TicketId id) { return Load{id, spec_of_load(op, options), pin}; });
    }
    case unload: {
      Ticket asked = ticket;
      asked.kind = Ticket::Kind::unload;
      return ask(asked, [&](TicketId id) { return Unload{id, name}; });
    }
    case unload_all: {
      Ticket asked = ticket;
      asked.kind = Ticket::Kind::unload_all;
      return ask(asked, [&](TicketId id) { return UnloadAll{id}; });
    }
    case pin: {
      Ticket asked = ticket;
      asked.kind = Ticket::Kind::pin;
      return ask(asked, [&](TicketId id) { return Pin{id, name, op.choice == 1}; });
    }
    case cancel:
      if (const auto* waiting = nth(witness_.tickets(), op.nth)) send(CancelTicket{waiting->first});
      return;
    case crash:
      if (const auto* child = nth(witness_.children(), op.nth)) send(InstanceDied{child->first});
      return;
    case fate:
      fates_[op.animal] = static_cast<Fate>(op.choice);
      return;
    case settings:
      usual_ = settings_of(op);
      return change_settings();
    case lend:
      lends_ = op;
      return change_settings();
    case elapse:
      return pass(Millis{op.ms});
    case wall_clock:
      now_.wall -= Millis{op.ms};
      return;
    case traits:
      return set_traits(op);
    case foreign:
      return memory_.use_elsewhere(op.choice % kPoolCount, op.ms);
    case sampler:
      latency_ = Millis{op.ms};
      blind_ = op.choice == 1;
      deaf_ = op.choice == 2;
      return;
    case lateness:
      lateness_ = Millis{op.ms};
      return;
    case disk:
      disks_[op.animal] = {true, op.choice, Millis{op.ms}};
      return;
    case simulate: {
      Ticket asked = ticket;
      asked.kind = Ticket::Kind::simulate;
      return ask(asked, [&](TicketId id) { return SimulatePressure{id, pressure_of(op)}; });
    }
  }
}

// Where nothing was ever said of lending it is as it is by itself.
void World::change_settings() {
  Settings settings = usual_;
  if (lends_.ms > 0) lend_by(lends_, settings);
  send(ChangeSettings{settings});
}

void World::acquire(const Op& op, RequestOrigin origin) {
  if (op.nth % 2 == 0) {  // the shell tries the short way first; half of the time, so that both are seen
    ++outcome_.events;
    const auto lease = core_.try_acquire(ModelName(kZoo[op.animal].name), now_, origin);
    witness_.short_way(op.animal, lease, now_, origin);
    if (lease) used(lease->instance);
    if (lease) return hold(lease->id, Millis{op.ms});
  }
  const Ticket ticket{.animal = op.animal, .hold = Millis{op.ms}, .peer = origin == RequestOrigin::peer};
  ask(ticket, [&](TicketId id) { return Acquire{id, spec_of_load(op, 0, origin)}; });
}

// Where files are to be looked at, nobody knows before what the load takes.
SpecPtr World::spec_of_load(const Op& op, std::uint64_t options, RequestOrigin origin) const {
  const SpecPtr known = spec_of(op.animal, options, traits_[op.animal], origin);
  if (!disks_[op.animal].known) return known;
  ModelSpec spec = *known;
  spec.to_check = true;
  spec.device = Device::none;
  spec.npu = NpuPolicy::none;
  spec.memory.clear();
  return std::make_shared<const ModelSpec>(std::move(spec));
}

void World::look(const CheckLoad& asked) {
  looks_.emplace(asked.check, asked);
  const Disk& disk = disks_[animal_named(asked.spec->name)];
  set(Timer::Kind::looked, asked.check, disk.choice == 2 && !resting_ ? Millis{30'000} : disk.takes);
}

void World::looked(std::uint64_t check) {
  const auto found = looks_.extract(check);
  if (found.empty()) return;
  const CheckLoad& asked = found.mapped();
  const std::size_t animal = animal_named(asked.spec->name);
  if (disks_[animal].choice != 0) return send(CheckFailed{asked.instance, check, broken("its files aren't there")});
  ModelSpec spec = *asked.spec;
  const SpecPtr known = spec_of(animal, spec.options, traits_[animal]);
  spec.device = known->device;
  spec.npu = known->npu;
  spec.memory = known->memory;
  send(LoadChecked{asked.instance, check, std::make_shared<const ModelSpec>(std::move(spec))});
}

void World::dies(InstanceId instance) {
  const auto at = witness_.children().find(instance);
  if (at != witness_.children().end() && at->second.leases > 0) send(InstanceDied{instance, "it died at work"});
}

void World::ask(const Ticket& ticket, auto event_for) {
  const TicketId id(++last_ticket_);
  witness_.open(id, ticket);
  send(event_for(id));
}

void World::send(const Event& event) {
  ++outcome_.events;
  const auto tickets = witness_.tickets();
  if (const auto* loaded = std::get_if<LoadSucceeded>(&event)) memory_.loaded(loaded->instance);
  if (const auto* failed = std::get_if<LoadFailed>(&event)) gone(failed->instance);
  if (const auto* died = std::get_if<InstanceDied>(&event)) gone(died->instance);
  if (const auto* stopped = std::get_if<InstanceStopped>(&event)) gone(stopped->instance);
  witness_.before(event, now_);
  actions_.clear();
  core_.handle(event, now_, actions_);
  const ActionList actions = actions_;
  for (const Action& action : actions) {
    if (const auto* granted = std::get_if<Granted>(&action)) {
      const auto asked = tickets.find(granted->ticket);
      used(granted->instance);
      granted_on_ = granted->instance;
      if (asked != tickets.end()) hold(granted->lease, asked->second.hold);
    }
  }
  act(actions);
  witness_.after(event, actions, now_);
}

void World::act(const ActionList& actions) {
  for (const Action& action : actions) {
    if (const auto* check = std::get_if<CheckLoad>(&action)) {
      trace(fmt::format("             {} is looked at", check->spec->name.value()));
      look(*check);
    } else if (const auto* drop = std::get_if<DropCheck>(&action)) {
      std::erase_if(looks_, [&](const auto& entry) { return entry.second.instance == drop->instance; });
    } else if (const auto* start = std::get_if<StartLoad>(&action)) {
      trace(fmt::format("             {} starts{}", start->spec->name.value(), start->attempt > 1 ? " again" : ""));
      begin(*start);
      set(Timer::Kind::load_ends, start->instance.value(), load_time(animal_named(start->spec->name)));
    } else if (const auto* stop = std::get_if<StopInstance>(&action)) {
      trace(fmt::format("             {} stops: {}", label(stop->instance), name_of(stop->reason)));
      set(Timer::Kind::stop_ends, stop->instance.value(), stop_time(stop->instance));
    } else if (const auto* abort = std::get_if<AbortLoad>(&action)) {
      trace(fmt::format("             {} is aborted: {}", label(abort->instance), name_of(abort->reason)));
      set(Timer::Kind::stop_ends, abort->instance.value(), stop_time(abort->instance));
    } else if (const auto* shrink = std::get_if<Downsize>(&action)) {
      trace(fmt::format("             {} is downsized", label(shrink->instance)));
      set(Timer::Kind::shrinks, shrink->instance.value(), stop_time(shrink->instance));
    } else if (std::get_if<SampleMemory>(&action) != nullptr) {
      set(Timer::Kind::sampled, 0, latency_);
    } else if (const auto* watch = std::get_if<WatchMemory>(&action)) {
      this->watch(watch->on);
    } else if (const auto* granted = std::get_if<Granted>(&action)) {
      trace(fmt::format("             request {} runs on {}", granted->ticket.value(), label(granted->instance)));
    } else if (const auto* rejected = std::get_if<Rejected>(&action)) {
      trace(fmt::format("             {} is refused: {}", rejected->ticket.value(), rejected->error.message));
    } else if (const auto* wake = std::get_if<WakeAt>(&action)) {
      wake_ = wake->time;
      if (wake_) set(Timer::Kind::wake, 0, std::chrono::ceil<Millis>(*wake_ - now_.mono));
    }
  }
}

void World::set(Timer::Kind kind, std::uint64_t id, Millis in) {
  timers_.push({now_.mono + in, ++timers_set_, kind, id});
}

// How long children take depends on the model and on how often it was loaded, so that leaving out a step of one model
// doesn't change the life of another.
Millis World::load_time(std::size_t animal) {
  Dice dice(animal * 1'000'003 + ++loads_[animal]);
  return Millis{1 + dice.roll(1U << dice.roll(12))};
}

Millis World::stop_time(InstanceId instance) {
  const std::size_t animal = witness_.children().at(instance).animal;
  Dice dice(animal * 1'000'003 + loads_[animal] + 500'000);
  return Millis{dice.chance(3) ? 5000 : 1 + dice.roll(20)};
}

bool World::chance(InstanceId instance, std::uint32_t percent) {
  const std::size_t animal = witness_.children().at(instance).animal;
  return Dice(animal * 1'000'003 + loads_[animal] + 700'000).chance(percent);
}

void World::hold(LeaseId lease, Millis time) {
  set(Timer::Kind::lease_ends, lease.value(), time);
  const InstanceId instance = witness_.leases().contains(lease) ? witness_.leases().at(lease) : granted_on_;
  if (fates_[witness_.children().at(instance).animal] == Fate::dies) set(Timer::Kind::dies, instance.value(), time / 2);
}

void World::pass(Millis time) {
  const MonoTime until = now_.mono + time;
  while (!timers_.empty() && timers_.top().time <= until) {
    const Timer timer = timers_.top();
    timers_.pop();
    now_.wall += std::chrono::duration_cast<Millis>(timer.time - now_.mono);
    now_.mono = timer.time;
    fire(timer);
  }
  now_.wall += std::chrono::duration_cast<Millis>(until - now_.mono);
  now_.mono = until;
}

void World::fire(const Timer& timer) {
  switch (timer.kind) {
    case Timer::Kind::load_ends:
      return load_ends(InstanceId(timer.id));
    case Timer::Kind::stop_ends:
      return stop_ends(InstanceId(timer.id));
    case Timer::Kind::lease_ends:
      return send(ReturnLease{LeaseId(timer.id)});
    case Timer::Kind::wake:
      if (wake_ && *wake_ <= now_.mono) send(Tick{});
      return;
    case Timer::Kind::shrinks:
      return shrinks(InstanceId(timer.id));
    case Timer::Kind::downsize_ends:
      return downsize_ends(InstanceId(timer.id));
    case Timer::Kind::sampled:
      return sampled();
    case Timer::Kind::watched:
      return watched();
    case Timer::Kind::memory_back:
      return memory_.returned(on_its_way_[timer.id]);
    case Timer::Kind::looked:
      return looked(timer.id);
    case Timer::Kind::dies:
      return dies(InstanceId(timer.id));
  }
}

void World::load_ends(InstanceId instance) {
  const auto at = witness_.children().find(instance);
  if (at == witness_.children().end()) return;
  const Child& child = at->second;
  if (child.phase == Child::Phase::stopping) {
    // The news of a load that ended crosses the order to abort it.
    if (chance(instance, 30)) send(LoadSucceeded{instance});
    return;
  }
  switch (fates_[child.animal]) {
    case Fate::hangs:
      return;
    case Fate::crashes:
      return send(InstanceDied{instance});
    case Fate::missing:
      return send(LoadFailed{instance, LoadFault::file_not_found, broken("no such file")});
    case Fate::broken:
      return send(LoadFailed{instance, LoadFault::other, broken("it is broken")});
    case Fate::crowded:
      if (witness_.children().size() > 1)
        return send(LoadFailed{instance, LoadFault::out_of_memory, broken("too crowded")});
      break;
    case Fate::loads:
    case Fate::dies:
      break;
  }
  if (!fits(instance)) return send(LoadFailed{instance, LoadFault::out_of_memory, broken("no memory is left")});
  send(LoadSucceeded{instance});
}

void World::stop_ends(InstanceId instance) {
  if (!witness_.children().contains(instance)) return;
  // A child may crash on its way out, then both pieces of news come.
  if (chance(instance, 10)) send(InstanceDied{instance});
  send(InstanceStopped{instance});
}

void World::come_to_rest() {
  fates_.fill(Fate::loads);
  for (Disk& disk : disks_) disk.choice = 0;
  resting_ = true;
  while (!timers_.empty()) pass(std::chrono::duration_cast<Millis>(timers_.top().time - now_.mono));
  witness_.at_rest();
}

void World::shut_down() {
  for (std::uint8_t animal : {0, 1, 4}) apply({.kind = Op::Kind::acquire, .animal = animal, .nth = 1, .ms = 100});
  send(Shutdown{});
  while (!timers_.empty()) pass(std::chrono::duration_cast<Millis>(timers_.top().time - now_.mono));
  witness_.at_rest();
  if (!witness_.children().empty()) throw Violation{"shutdown stops everything", "a child is left"};
}

void World::trace(std::string line) {
  if (with_trace_) outcome_.trace.push_back(std::move(line));
}

std::string World::label(InstanceId id) const {
  const auto at = witness_.children().find(id);
  return at == witness_.children().end() ? fmt::format("the new instance {}", id.value()) : at->second.kind().name;
}

Outcome live(const std::vector<Op>& scenario, bool with_trace) {
  World world(with_trace);
  Outcome& outcome = world.outcome();
  try {
    for (const Op& op : scenario) world.apply(op);
    world.come_to_rest();
    world.shut_down();
  } catch (const Violation& violation) {
    outcome.violation = violation;
  } catch (const std::exception& error) {
    outcome.violation = Violation{"the core never throws", error.what()};
  }
  return std::move(outcome);
}

}  // namespace corral::residency::simulation
