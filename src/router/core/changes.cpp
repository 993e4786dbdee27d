#include "router/core/changes.h"

#include <algorithm>
#include <array>
#include <ranges>

namespace corral::router {
namespace {

using residency::InstanceState;

// Compares the order of a queue and the instances that loads wait for; waiting times always differ. Loads whose
// preflight runs are ignored.
bool same_order(const std::vector<residency::QueuedView>& a, const std::vector<residency::QueuedView>& b) {
  const auto waits = [](const residency::QueuedView& queued) { return !queued.checking; };
  return std::ranges::equal(a | std::views::filter(waits), b | std::views::filter(waits),
                            [](const auto& one, const auto& other) {
                              return one.model == other.model && one.waiting_for == other.waiting_for;
                            });
}

bool same_waiters(const std::vector<residency::QueuedView>& a, const std::vector<residency::QueuedView>& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one.model == other.model && one.waiters == other.waiters && one.checking == other.checking;
  });
}

class Differ {
 public:
  explicit Differ(const Causes& causes) : causes_(causes) {}

  void came(const InstanceSnapshot& instance) {
    urgent();
    notify_move(instance, InstanceState::queued);
    add(LoadChanged{.spec = instance.spec, .stage = LoadStage::started, .attempt = instance.attempt, .error = {}});
    if (!instance.loads) notify_finished(instance);
  }

  void stayed(const InstanceSnapshot& before, const InstanceSnapshot& after) {
    if (before.loads && !after.loads) notify_finished(after);
    if (before.loads && after.loads && before.progress != after.progress) {
      add(LoadChanged{.spec = after.spec,
                      .stage = LoadStage::progress,
                      .attempt = after.attempt,
                      .progress = after.progress,
                      .error = {}});
    }
    if (before.state != after.state || before.leases != after.leases) notify_move(after, before.state);
    if (!(serves(before.state) && serves(after.state)) && before.state != after.state) urgent();
    if (before.pinned != after.pinned) {
      urgent();
      add(PinUpdated{after.spec->name, after.pinned});
    }
  }

  void went(const InstanceSnapshot& instance) {
    urgent();
    const auto cause = causes_.find(instance.id);
    const bool failed = cause != causes_.end();
    if (instance.loads) {
      add(LoadChanged{.spec = instance.spec,
                      .stage = failed ? LoadStage::failed : LoadStage::aborted,
                      .attempt = instance.attempt,
                      .reason = instance.leaving,
                      .error = failed ? std::optional(cause->second) : std::nullopt});
    }
    add(InstanceChanged{.spec = instance.spec,
                        .from = instance.state,
                        .to = failed ? InstanceState::failed : InstanceState::gone,
                        .reason = instance.leaving,
                        .cause = failed ? cause->second.message : "",
                        .pinned = instance.pinned});
  }

  void add(Change change) { changes_.list.push_back(std::move(change)); }
  void urgent() { changes_.urgent = true; }
  Changes take() { return std::move(changes_); }

 private:
  void notify_move(const InstanceSnapshot& instance, InstanceState from) {
    add(InstanceChanged{.spec = instance.spec,
                        .from = from,
                        .to = instance.state,
                        .reason = instance.leaving,
                        .cause = {},
                        .pinned = instance.pinned,
                        .requests = instance.leases,
                        .idle_next = instance.idle_next});
  }
  void notify_finished(const InstanceSnapshot& instance) {
    add(LoadChanged{.spec = instance.spec,
                    .stage = LoadStage::finished,
                    .attempt = instance.attempt,
                    .progress = 1,
                    .took = instance.load_duration,
                    .error = {}});
  }

  const Causes& causes_;
  Changes changes_;
};

}  // namespace

const char* name_of(LoadStage stage) {
  static constexpr std::array kNames{"started", "progress", "finished", "failed", "aborted"};
  return kNames[static_cast<std::size_t>(stage)];
}

RouterSnapshot take_snapshot(const residency::Core& core, residency::Now now, double progress) {
  auto core_state = core.snapshot(now);
  RouterSnapshot snapshot{{}, std::move(core_state.queue), core.state().settings, core_state.revision};
  for (const auto& view : core_state.instances) {
    snapshot.instances.push_back({.id = view.id,
                                  .spec = view.spec,
                                  .state = view.state,
                                  .leaving = view.leaving,
                                  .pinned = view.pinned,
                                  .leases = view.leases,
                                  .idle_next = view.idle_next,
                                  .load_duration = view.load_duration});
  }
  if (const auto& loading = core_state.loading) {
    snapshot.instances.push_back({.id = loading->id,
                                  .spec = loading->spec,
                                  .state = loading->aborting ? InstanceState::evicting : InstanceState::loading,
                                  .leaving = loading->leaving,
                                  .loads = true,
                                  .attempt = loading->attempt,
                                  .progress = progress});
    const auto* model = core.state().find(loading->spec->name);
    snapshot.instances.back().pinned = model != nullptr && model->pinned;
  }
  std::ranges::sort(snapshot.instances, {}, &InstanceSnapshot::id);
  return snapshot;
}

Changes diff(const RouterSnapshot& before, const RouterSnapshot& after, const Causes& causes) {
  Differ differ(causes);
  auto old = before.instances.begin();
  auto now = after.instances.begin();
  while (old != before.instances.end() || now != after.instances.end()) {
    if (now == after.instances.end() || (old != before.instances.end() && old->id < now->id)) {
      differ.went(*old++);
    } else if (old == before.instances.end() || now->id < old->id) {
      differ.came(*now++);
    } else {
      differ.stayed(*old++, *now++);
    }
  }
  if (!same_order(before.queue, after.queue)) differ.urgent();
  if (!same_order(before.queue, after.queue) || !same_waiters(before.queue, after.queue))
    differ.add(QueueChanged{after.queue});
  if (before.settings != after.settings) {
    differ.urgent();
    differ.add(SettingsChanged{after.settings});
  }
  return differ.take();
}

}  // namespace corral::router
