#include "residency/core/pins.h"

#include <fmt/format.h>

#include "residency/errors.h"

namespace corral::residency {

bool Pins::handle(const Pin& event, const Step& step) {
  const Model* model = state_.find(event.model);
  Instance* current = model == nullptr ? nullptr : model->current;
  if (current != nullptr && current->spec->share) current = nullptr;
  const bool taken_off = model != nullptr && model->pinned && !event.pinned;
  if (current == nullptr && !taken_off) {
    step.reject(event.ticket, not_loaded(event.model));
    return false;
  }
  if (current != nullptr) {
    if (event.pinned && refuse(*current, event.ticket, step)) return false;
    if (event.pinned && is_resident(current->state)) adoption_.make_local(*current);
    // The newest pin wins, also over that of a running load. A load for a peer may still be aborted: it becomes local
    // when it succeeds.
    current->pin = event.pinned && current->lent ? std::optional(true) : std::nullopt;
  }
  if (model->pending != nullptr) model->pending->pin.reset();
  set(event.model, event.pinned, event.ticket, step);
  return true;
}

void Pins::set(const ModelName& name, bool pinned, std::optional<TicketId> ticket, const Step& step) {
  Model& model = state_.models[name];
  const bool changes = model.pinned != pinned;
  model.pinned = pinned;
  state_.revision += changes;
  if (changes || ticket) step.act(PinChanged{ticket, name, pinned});
}

void Pins::apply(Instance& instance, std::optional<bool> pin, const Step& step) {
  if (pin == true) adoption_.make_local(instance);
  if (pin) set(instance.spec->name, *pin, std::nullopt, step);
}

bool Pins::refuse(const Instance& instance, TicketId ticket, const Step& step) const {
  if (!instance.lent) return false;
  const ModelType type = instance.spec->type;
  std::size_t pinned = 0;
  for (const auto& [id, other] : state_.instances) pinned += other->spec->type == type && state_.is_protected(*other);
  if (state_.settings.limits.allows(type, pinned + 1)) return false;
  step.reject(ticket,
              Error(errc::slots_pinned,
                    fmt::format("'{}' is lent, and all loaded models of type {} are pinned: unpin or unload one first",
                                instance.spec->name.value(), name_of(type)),
                    "model"));
  return true;
}

}  // namespace corral::residency
