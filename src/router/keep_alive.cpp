#include "router/keep_alive.h"

#include <algorithm>

#include "router/options/eviction.h"

namespace corral::router {
namespace {

// No ticket waits for its reply.
constexpr residency::TicketId kNoTicket{};

}  // namespace

bool KeepAlive::is_saved(const residency::PinChanged& action) { return action.ticket != kNoTicket; }

// Requests must not fill all slots of a type permanently: that takes a pin by an administrator.
bool KeepAlive::may_pin(const ModelName& model) const {
  const auto views = driver_.core().snapshot(driver_.now()).instances;
  const auto own =
      std::ranges::find_if(views, [&](const auto& view) { return view.spec->name == model && !view.spec->share; });
  if (own == views.end() || own->pinned || own->lent) return false;
  const auto pinned = static_cast<std::size_t>(std::ranges::count_if(
      views, [&](const auto& view) { return view.spec->type == own->spec->type && view.pinned; }));
  constexpr std::size_t kThisAndOneUnpinned = 2;
  return driver_.core().state().settings.limits.allows(own->spec->type, pinned + kThisAndOneUnpinned);
}

void KeepAlive::pin(const ModelName& model, bool pinned) {
  pinned ? void(pins_.insert(model)) : void(pins_.erase(model));
  driver_.dispatch(residency::Pin{kNoTicket, model, pinned});
}

void KeepAlive::keep(const ModelName& model, Millis idle) {
  for (const auto& [id, running] : processes_.all()) {
    if (running->spec->name != model || running->stopping) continue;
    auto& requested = running->requested;
    keep_for(requested, idle, eviction_of(options_.wanted(model, requested)));
    const auto eviction = eviction_of(options_.wanted(model, requested));
    if (idle < Millis(0) && may_pin(model)) pin(model, true);
    if (idle >= Millis(0) && pins_.contains(model)) pin(model, false);
    return driver_.dispatch(residency::ChangeEviction{model, eviction});
  }
}

void KeepAlive::stopping(const ModelName& model) {
  if (pins_.contains(model)) pin(model, false);
}

}  // namespace corral::router
