#include "router/changes.h"

#include <algorithm>
#include <array>
#include <ranges>

namespace corral::router {
namespace {

using residency::ServerState;

// What is compared of a queue: who waits for whom; time passes by itself. Who is only being looked at has hardly come.
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

  void came(const InstanceSnapshot& server) {
    urgent();
    tell_move(server, ServerState::queued);
    add(LoadChanged{.spec = server.spec, .stage = LoadStage::started, .attempt = server.attempt, .error = {}});
    if (!server.loads) tell_finished(server);
  }

  void stayed(const InstanceSnapshot& before, const InstanceSnapshot& after) {
    if (before.loads && !after.loads) tell_finished(after);
    if (before.loads && after.loads && before.progress != after.progress) {
      add(LoadChanged{.spec = after.spec,
                      .stage = LoadStage::progress,
                      .attempt = after.attempt,
                      .progress = after.progress,
                      .error = {}});
    }
    if (before.state != after.state || before.leases != after.leases) tell_move(after, before.state);
    if (!(serves(before.state) && serves(after.state)) && before.state != after.state) urgent();
    if (before.pinned != after.pinned) {
      urgent();
      add(PinUpdated{after.spec->name, after.pinned});
    }
  }

  void went(const InstanceSnapshot& server) {
    urgent();
    const auto cause = causes_.find(server.id);
    const bool failed = cause != causes_.end();
    if (server.loads) {
      add(LoadChanged{.spec = server.spec,
                      .stage = failed ? LoadStage::failed : LoadStage::aborted,
                      .attempt = server.attempt,
                      .reason = server.leaving,
                      .error = failed ? std::optional(cause->second) : std::nullopt});
    }
    add(InstanceChanged{.spec = server.spec,
                        .from = server.state,
                        .to = failed ? ServerState::failed : ServerState::gone,
                        .reason = server.leaving,
                        .cause = failed ? cause->second.message : "",
                        .pinned = server.pinned});
  }

  void add(Change change) { changes_.list.push_back(std::move(change)); }
  void urgent() { changes_.urgent = true; }
  Changes take() { return std::move(changes_); }

 private:
  void tell_move(const InstanceSnapshot& server, ServerState from) {
    add(InstanceChanged{.spec = server.spec,
                        .from = from,
                        .to = server.state,
                        .reason = server.leaving,
                        .cause = {},
                        .pinned = server.pinned,
                        .requests = server.leases});
  }
  void tell_finished(const InstanceSnapshot& server) {
    add(LoadChanged{.spec = server.spec,
                    .stage = LoadStage::finished,
                    .attempt = server.attempt,
                    .progress = 1,
                    .took = server.load_duration,
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

RouterSnapshot take_picture(const residency::Core& core, residency::Now now, double progress) {
  auto snapshot = core.snapshot(now);
  RouterSnapshot picture{{}, std::move(snapshot.queue), core.state().settings, snapshot.revision};
  for (const auto& view : snapshot.servers) {
    picture.servers.push_back({.id = view.id,
                               .spec = view.spec,
                               .state = view.state,
                               .leaving = view.leaving,
                               .pinned = view.pinned,
                               .leases = view.leases,
                               .load_duration = view.load_duration});
  }
  if (const auto& loading = snapshot.loading) {
    picture.servers.push_back({.id = loading->id,
                               .spec = loading->spec,
                               .state = loading->aborting ? ServerState::evicting : ServerState::loading,
                               .leaving = loading->leaving,
                               .loads = true,
                               .attempt = loading->attempt,
                               .progress = progress});
    const auto* model = core.state().find(loading->spec->name);
    picture.servers.back().pinned = model != nullptr && model->pinned;
  }
  std::ranges::sort(picture.servers, {}, &InstanceSnapshot::id);
  return picture;
}

Changes diff(const RouterSnapshot& before, const RouterSnapshot& after, const Causes& causes) {
  Differ differ(causes);
  auto old = before.servers.begin();
  auto now = after.servers.begin();
  while (old != before.servers.end() || now != after.servers.end()) {
    if (now == after.servers.end() || (old != before.servers.end() && old->id < now->id)) {
      differ.went(*old++);
    } else if (old == before.servers.end() || now->id < old->id) {
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
