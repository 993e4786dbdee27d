#include "residency/core/preflight.h"

#include <algorithm>

namespace corral::residency {

void Preflight::ask(Instance& load, const Step& step) {
  if (load.check != 0) return;
  load.check = ++last_check_;
  load.check_asked = step.time();
  ++state_.revision;
  step.act(CheckLoad{load.id, load.check, load.spec});
}

void Preflight::drop(Instance& load, const Step& step) {
  if (load.check != 0) step.act(DropCheck{load.id});
  load.check = 0;
  load.checked_at.reset();
}

bool Preflight::is_fresh(const Instance& load, MonoTime now) const {
  if (!load.spec->to_check) return true;
  if (!load.checked_at) return false;
  const Millis trusted = load.check_took * state_.settings.check_trust;
  return now - *load.checked_at <= std::max(state_.settings.check_age, trusted);
}

Instance* Preflight::end(InstanceId instance, std::uint64_t check) {
  Instance* load = state_.find(instance);
  if (load == nullptr || load->check == 0 || load->check != check) return nullptr;
  load->check = 0;
  return load;
}

bool Preflight::handle(const LoadChecked& event, const Step& step) {
  Instance* load = end(event.instance, event.check);
  if (load == nullptr) return false;
  load->checked_at = step.time();
  load->check_took = std::chrono::ceil<Millis>(step.time() - load->check_asked);
  if (load->spec->memory != event.spec->memory) load->promise.reset();  // it was for another memory need
  load->spec = event.spec;
  ++state_.revision;
  return true;
}

}  // namespace corral::residency
