// Tells any number of readers what changes: in the house, of which it takes pictures, and with everybody else who has
// something to tell (downloads, a mesh): sources, see event_source.h.
//
// Events have numbers and stand in one bounded list that all readers share; a reader is no more than the number of the
// last event it has seen. One that is so slow that the list has passed it by is told so and starts again from a
// picture of the whole. So a reader costs nothing while it waits, can't make anything grow, and holds up nobody.
// Without readers nothing is compared and nothing kept.
//
// On the home loop, but for listen().
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "router/core/changes.h"

namespace corral::router {

struct Event {
  std::uint64_t number = 0;  // ascending by one
  WallTime time;
  Change change;
};
using EventPtr = std::shared_ptr<const Event>;

class EventHub {
 public:
  // `look` takes a picture of now; called on the home loop.
  EventHub(async::Executor home, async::Timers& timers, std::function<RouterSnapshot()> look)
      : home_(home),
        timers_(timers),
        look_(std::move(look)),
        next_(std::make_shared<async::Event>(home)),
        later_(home) {}

  // Somebody listens as long as this lives. On any loop.
  std::shared_ptr<void> listen() const;

  // The core has taken a step and is at this revision now. Cheap when nobody listens.
  void stepped(std::uint64_t revision);
  // A number moved that the core knows nothing of.
  void progressed() {
    if (tracking()) look_soon();
  }
  // A part of every snapshot from now on, for as long as the result lives; both go before the hub.
  std::shared_ptr<void> attach(const EventSource& source);
  // What attached sources say now.
  std::vector<NoticePtr> states() const;
  // Something happened elsewhere. Cheap when nobody listens.
  void tell(NoticePtr notice);
  // Why the server will be found gone.
  void note(residency::InstanceId instance, Error cause);
  // Ends all readers, now and later.
  void close();

  // Events from now on have higher numbers than the one returned.
  std::uint64_t begin();
  struct Batch {
    std::vector<EventPtr> events;
    bool lost = false;    // events were missed: begin() again
    bool closed = false;  // none will follow
  };
  // What came after event `number`, waiting for up to `patience` while that is nothing.
  async::Task<Batch> after(std::uint64_t number, Millis patience);

  std::size_t tasks() const { return later_.running(); }

 private:
  bool tracking();
  void look_now(bool even_if_unimportant);
  void look_soon();
  async::Task<void> look_later();
  void publish(Change change);
  Batch collect(std::uint64_t number) const;

  const async::Executor home_;
  async::Timers& timers_;
  const std::function<RouterSnapshot()> look_;
  const std::shared_ptr<std::atomic<int>> listeners_ = std::make_shared<std::atomic<int>>(0);

  bool tracking_ = false;  // `seen_` is kept up to date
  RouterSnapshot seen_;
  Causes causes_;
  MonoTime last_look_ = MonoTime::min();
  std::deque<EventPtr> events_;
  std::size_t kept_ = 0;  // weight of events_
  std::uint64_t last_number_ = 0;
  bool closed_ = false;
  std::shared_ptr<async::Event> next_;  // set and replaced with each event
  async::TaskGroup later_;
  std::list<const EventSource*> sources_;
};

}  // namespace corral::router
