// ModelRouter's part in telling what changes.
#include <algorithm>

#include "router/model_router.h"

namespace corral::router {

EventReader::EventReader(ModelRouter& router) : router_(router), listening_(router.hub_.listen()) {}

async::Task<Update> EventReader::next(Millis patience) {
  auto task = router_.next_update(seen_, patience);
  auto update = co_await async::run_on(router_.home_.executor(), std::move(task));
  seen_ = update.number;
  co_return update;
}

async::Task<Update> ModelRouter::next_update(std::optional<std::uint64_t> seen, Millis patience) {
  Update update;
  if (seen) {
    auto batch = co_await hub_.after(*seen, patience);
    update.events = std::move(batch.events);
    update.number = update.events.empty() ? *seen : update.events.back()->number;
    update.ended = batch.closed;
    if (!batch.lost) co_return update;
  }
  update.number = hub_.begin();
  update.whole = co_await report_here();
  co_return update;
}

Picture ModelRouter::look() const {
  const auto loading = std::ranges::find_if(running_, [](const auto& entry) { return entry.second->loading; });
  return take_picture(core_, now(), loading == running_.end() ? 0 : loading->second->progress);
}

async::Task<void> ModelRouter::end_events() {
  auto task = end_events_here();
  co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<void> ModelRouter::end_events_here() {
  hub_.close();
  co_return;
}

}  // namespace corral::router
