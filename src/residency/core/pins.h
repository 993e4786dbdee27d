// Pins models. A pin belongs to the model's name, not to the instance: it outlives crash, reload and unload.
#pragma once

#include <optional>

#include "residency/core/adoption.h"
#include "residency/core/step.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class Pins {
 public:
  Pins(State& state, Adoption& adoption) : state_(state), adoption_(adoption) {}

  // True: decisions may change.
  bool handle(const Pin& event, const Step& step);
  // With a `ticket`, PinChanged follows even if nothing changes.
  void set(const ModelName& name, bool pinned, std::optional<TicketId> ticket, const Step& step);
  // Applies the pin that the load of this instance requested.
  void apply(Instance& instance, std::optional<bool> pin, const Step& step);
  // True if there is no slot for it: a pin makes a lent model local, and pinned models have all slots of its type.
  bool refuse(const Instance& instance, TicketId ticket, const Step& step) const;

 private:
  State& state_;
  Adoption& adoption_;
};

}  // namespace corral::residency
