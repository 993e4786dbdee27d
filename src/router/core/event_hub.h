// Sends changes to any number of readers: of the router's state, found by comparing snapshots, and of other sources
// such as downloads or a mesh (event_source.h).
//
// Events have numbers and are in one bounded list that all readers share; a reader only has the number of its last
// event. A reader that is too slow for the list gets `lost` and restarts from a full snapshot. So readers cost nothing
// while they wait, can't grow memory and delay nothing. Without readers nothing is compared or stored.
//
// On the home loop, except listen().
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
  // `look` takes a snapshot; called on the home loop.
  EventHub(async::Executor home, async::Timers& timers, std::function<RouterSnapshot()> look)
      : home_(home),
        timers_(timers),
        look_(std::move(look)),
        next_(std::make_shared<async::Event>(home)),
        later_(home) {}

  // A reader is registered as long as this lives. On any loop.
  std::shared_ptr<void> listen() const;

  // The core has handled an event and has this revision now. Cheap without readers.
  void stepped(std::uint64_t revision);
  // A number changed that isn't part of the core's state.
  void progressed() {
    if (tracking()) look_soon();
  }
  // A source that is part of every snapshot as long as the result lives; both must end before the hub.
  std::shared_ptr<void> attach(const EventSource& source);
  // Current states of the attached sources.
  std::vector<NoticePtr> states() const;
  // Publishes a notice of another source. Cheap without readers.
  void notify(NoticePtr notice);
  // Why the instance will be missing in the next snapshot.
  void note(residency::InstanceId instance, Error cause);
  // Ends all readers, also later ones.
  void close();

  // Starts reading: later events have higher numbers than the returned one.
  std::uint64_t begin();
  struct Batch {
    std::vector<EventPtr> events;
    bool lost = false;    // events were missed: begin() again
    bool closed = false;  // none will follow
  };
  // Events after `number`; waits up to `patience` if there are none.
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
