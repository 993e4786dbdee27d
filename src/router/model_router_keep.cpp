// How long a loaded model stays because a request said so: a time, or permanently. Permanently means a pin, if an
// unpinned slot remains. These pins aren't configuration: they are not saved, and they end when the model is stopped.
#include <algorithm>
#include <utility>

#include "residency/action.h"
#include "router/model_router.h"
#include "router/options/eviction.h"

namespace corral::router {
namespace {

// Ticket without a waiter.
constexpr residency::TicketId kNobodys{};

}  // namespace

// Requests must not be able to fill all slots of a type permanently; only an explicit pin may.
bool ModelRouter::may_keep_pinned(const ModelName& model) const {
  const auto views = driver_.core().snapshot(driver_.now()).instances;
  const auto own =
      std::ranges::find_if(views, [&](const auto& view) { return view.spec->name == model && !view.spec->share; });
  if (own == views.end() || own->pinned || own->lent) return false;
  const auto pinned = static_cast<std::size_t>(std::ranges::count_if(
      views, [&](const auto& view) { return view.spec->type == own->spec->type && view.pinned; }));
  constexpr std::size_t kThisAndOneThatIsNot = 2;
  return driver_.core().state().settings.limits.allows(own->spec->type, pinned + kThisAndOneThatIsNot);
}

void ModelRouter::pin_kept(const ModelName& model, bool pinned) {
  pinned ? void(kept_pins_.insert(model)) : void(kept_pins_.erase(model));
  driver_.dispatch(residency::Pin{kNobodys, model, pinned});
}

void ModelRouter::keep_here(const ModelName& model, Millis idle) {
  for (const auto& [id, running] : processes_.all()) {
    if (running->spec->name != model || running->stopping) continue;
    auto& said = running->requested;
    keep_for(said, idle, eviction_of(wishes_.wanted(model, said)));
    const auto eviction = eviction_of(wishes_.wanted(model, said));
    if (idle < Millis(0) && may_keep_pinned(model)) pin_kept(model, true);
    if (idle >= Millis(0) && kept_pins_.contains(model)) pin_kept(model, false);
    return driver_.dispatch(residency::ChangeEviction{model, eviction});
  }
}

void ModelRouter::on(const residency::PinChanged& action) {
  if (action.ticket != kNobodys) wishes_.save_pin(action.model, action.pinned);
}

void ModelRouter::on(const residency::StopInstance& action) {
  const auto running = processes_.find(action.instance);
  processes_.on(action);
  if (!running || action.reason == residency::StopReason::reload) return;
  if (const auto name = running->spec->name; kept_pins_.contains(name)) pin_kept(name, false);
}

}  // namespace corral::router
