#include "fleet/base/split_book.h"

#include <algorithm>

#include "fleet/base/remote_models.h"

namespace corral::fleet {

void SplitBook::tell(std::vector<SplitNews> all) {
  const MutexLock lock(mutex_);
  all_ = std::move(all);
}

std::optional<SplitNews> SplitBook::find(const models::ModelInfo& model) const {
  const auto* far = as_remote_model(model);
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(all_, [&](const SplitNews& news) {
    return far != nullptr ? news.model == far->content : !news.name.empty() && news.name == model.name.value();
  });
  return found == all_.end() ? std::nullopt : std::optional(*found);
}

std::shared_ptr<void> SplitBook::wait() {
  const auto counted = waiting_;
  if (counted->fetch_add(1) >= kMaxWaiting) {
    counted->fetch_sub(1);
    return nullptr;
  }
  // The returned value may outlive the book.
  return {counted.get(), [counted](std::atomic<std::size_t>*) { counted->fetch_sub(1); }};
}

std::size_t SplitBook::waiting() const { return *waiting_; }

}  // namespace corral::fleet
