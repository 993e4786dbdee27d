#include "router/core/event_hub.h"

#include <algorithm>

namespace corral::router {
namespace {

// Interval of events for numbers that change all the time.
constexpr Millis kLookInterval{200};
// Maximum weight of the stored events: 1 each, plus 1 for each entry of a queue.
constexpr std::size_t kMaxKept = 2048;

std::size_t weight_of(const Event& event) {
  const auto* queue = std::get_if<QueueChanged>(&event.change);
  return 1 + (queue != nullptr ? queue->queue.size() : 0);
}

async::Task<bool> until_set(std::shared_ptr<async::Event> event) {
  co_await event->wait();
  co_return true;
}

}  // namespace

std::shared_ptr<void> EventHub::listen() const {
  ++*listeners_;
  return {nullptr, [count = listeners_](void*) { --*count; }};
}

bool EventHub::tracking() {
  if (!tracking_) return false;
  if (*listeners_ > 0) return true;
  tracking_ = false;
  seen_ = {};
  causes_.clear();
  events_.clear();
  kept_ = 0;
  later_.cancel();
  return false;
}

void EventHub::stepped(std::uint64_t revision) {
  if (!tracking()) return;
  if (revision == seen_.revision) {
    look_soon();
  } else {
    look_now(false);
  }
}

void EventHub::note(residency::InstanceId instance, Error cause) {
  if (tracking()) causes_.insert_or_assign(instance, std::move(cause));
}

std::shared_ptr<void> EventHub::attach(const EventSource& source) {
  const auto at = sources_.insert(sources_.end(), &source);
  return {nullptr, [this, at](void*) { sources_.erase(at); }};
}

std::vector<NoticePtr> EventHub::states() const {
  std::vector<NoticePtr> all;
  for (const auto* source : sources_) all.push_back(source->state());
  return all;
}

void EventHub::notify(NoticePtr notice) {
  if (!closed_ && tracking()) publish(std::move(notice));
}

void EventHub::close() {
  if (closed_) return;
  later_.cancel();
  if (tracking()) look_now(true);
  closed_ = true;
  publish(RouterClosed{});
}

std::uint64_t EventHub::begin() {
  if (tracking()) {
    look_now(true);
  } else {
    seen_ = look_();
    tracking_ = true;
  }
  return last_number_;
}

async::Task<EventHub::Batch> EventHub::after(std::uint64_t number, Millis patience) {
  if (number == last_number_ && !closed_) {
    auto waiting = until_set(next_);
    co_await async::with_timeout(timers_, patience, std::move(waiting));
  }
  co_return collect(number);
}

EventHub::Batch EventHub::collect(std::uint64_t number) const {
  Batch batch{.events = {}, .closed = closed_};
  batch.lost = number < last_number_ && (events_.empty() || events_.front()->number > number + 1);
  if (batch.lost) return batch;
  const auto missing = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(last_number_ - number, events_.size()));
  batch.events.assign(events_.end() - missing, events_.end());
  return batch;
}

void EventHub::look_now(bool even_if_unimportant) {
  if (closed_) return;
  auto snapshot = look_();
  auto changes = diff(seen_, snapshot, causes_);
  if (!changes.urgent && !even_if_unimportant) {
    if (changes.list.empty()) {
      seen_.revision = snapshot.revision;
    } else {
      look_soon();
    }
    return;
  }
  seen_ = std::move(snapshot);
  last_look_ = timers_.now();
  std::erase_if(causes_, [this](const auto& cause) {
    return std::ranges::none_of(seen_.instances, [&](const auto& instance) { return instance.id == cause.first; });
  });
  for (auto& change : changes.list) publish(std::move(change));
}

void EventHub::look_soon() {
  if (later_.running() == 0 && !closed_) later_.spawn("events", look_later());
}

async::Task<void> EventHub::look_later() {
  co_await timers_.sleep_until(last_look_ + kLookInterval);
  if (tracking()) look_now(true);
}

void EventHub::publish(Change change) {
  events_.push_back(std::make_shared<const Event>(++last_number_, timers_.wall_now(), std::move(change)));
  kept_ += weight_of(*events_.back());
  while (kept_ > kMaxKept && events_.size() > 1) {
    kept_ -= weight_of(*events_.front());
    events_.pop_front();
  }
  next_->set();
  next_ = std::make_shared<async::Event>(home_);
}

}  // namespace corral::router
