#include "fleet/base/split_book.h"

#include <algorithm>

#include "fleet/base/remote_models.h"

namespace corral::fleet {

void SplitBook::tell(std::vector<SplitNews> all) {
  const std::scoped_lock lock(mutex_);
  all_ = std::move(all);
}

std::optional<SplitNews> SplitBook::find(const models::ModelInfo& model) const {
  const auto* far = as_remote_model(model);
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(all_, [&](const SplitNews& news) {
    return far != nullptr ? news.model == far->content : !news.name.empty() && news.name == model.name.value();
  });
  return found == all_.end() ? std::nullopt : std::optional(*found);
}

std::shared_ptr<void> SplitBook::wait(const router::NodeRef& peer) {
  const auto counted = waiting_;
  const bool local = peer == router::NodeRef();
  {
    const std::scoped_lock lock(counted->mutex);
    const bool full = counted->all >= kMaxWaiting || (!local && counted->peers[peer] >= kMaxOfPeer);
    if (full) return nullptr;
    ++counted->all;
    if (!local) ++counted->peers[peer];
  }
  // The returned value may outlive the book.
  return {counted.get(), [counted, peer, local](Waiting*) {
            const std::scoped_lock lock(counted->mutex);
            --counted->all;
            if (local) return;
            const auto of = counted->peers.find(peer);
            if (--of->second == 0) counted->peers.erase(of);
          }};
}

std::size_t SplitBook::waiting() const {
  const std::scoped_lock lock(waiting_->mutex);
  return waiting_->all;
}

}  // namespace corral::fleet
