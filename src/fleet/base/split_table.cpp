#include "fleet/base/split_table.h"

#include <algorithm>

#include "fleet/base/remote_models.h"

namespace corral::fleet {

void SplitTable::set(std::vector<SplitStatus> all) {
  const MutexLock lock(mutex_);
  all_ = std::move(all);
}

std::optional<SplitStatus> SplitTable::find(const models::ModelInfo& model) const {
  const auto* far = as_remote_model(model);
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(all_, [&](const SplitStatus& status) {
    return far != nullptr ? status.model == far->content : !status.name.empty() && status.name == model.name.value();
  });
  return found == all_.end() ? std::nullopt : std::optional(*found);
}

std::shared_ptr<void> SplitTable::wait() {
  const auto counted = waiting_;
  if (counted->fetch_add(1) >= kMaxWaiting) {
    counted->fetch_sub(1);
    return nullptr;
  }
  // The returned value may outlive this table.
  return {counted.get(), [counted](std::atomic<std::size_t>*) { counted->fetch_sub(1); }};
}

std::size_t SplitTable::waiting() const { return *waiting_; }

}  // namespace corral::fleet
