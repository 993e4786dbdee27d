// Drives the residency core: feeds it events, executes its actions, completes pending tickets.
//
// If a step throws (a decision, an action, a notification), the next step still runs. A failed action returns to the
// core as the event of its failure; a ticket that couldn't be decided gets an error. On the home loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "residency/core.h"

namespace corral::router {

// Executes the core's actions except answers. Nothing blocks in here; resulting events are queued.
class ActionExecutor {
 public:
  virtual ~ActionExecutor() = default;
  virtual void on(const residency::CheckLoad& action) = 0;
  virtual void on(const residency::DropCheck& action) = 0;
  virtual void on(const residency::StartLoad& action) = 0;
  virtual void on(const residency::AbortLoad& action) = 0;
  virtual void on(const residency::StopInstance& action) = 0;
  virtual void on(const residency::Recall& action) = 0;
  virtual void on(const residency::Downsize& action) = 0;
  virtual void on(const residency::SampleMemory& action) = 0;
  virtual void on(const residency::WatchMemory& action) = 0;
  virtual void on(const residency::PinChanged& action) = 0;
  // The core has handled an event and has this revision now.
  virtual void stepped(std::uint64_t revision) = 0;
};

// The core's answer to a ticket.
using Answer = std::variant<residency::Granted, residency::Loaded, residency::Unloaded, residency::PinChanged,
                            residency::Relieved, Error>;

class CoreDriver {
 public:
  // `executor` must outlive it.
  CoreDriver(async::Executor home, async::Timers& timers, residency::Core core, ActionExecutor& executor);
  virtual ~CoreDriver() = default;

  // Passes the event to the core and executes its actions. May be called from inside an action: then the event follows.
  void dispatch(residency::Event event) noexcept;
  // Sends an event with a ticket and returns its answer. Cancelling the task cancels the ticket.
  template <typename Question>
  async::Task<Answer> ask(Question question) {
    Ticket ticket(*this);
    question.ticket = ticket.id;
    dispatch(std::move(question));
    co_return co_await ticket.wait();
  }
  // Fast path for a model that is ready.
  std::optional<residency::Core::Lease> try_acquire(const ModelName& model,
                                                    residency::RequestOrigin origin = residency::RequestOrigin::local);
  void return_lease(residency::LeaseId lease) noexcept { dispatch(residency::ReturnLease{lease}); }

  const residency::Core& core() const { return core_; }
  // Core::may_evict.
  bool may_evict(const residency::SpecPtr& spec) { return core_.may_evict(spec, now()); }
  residency::Now now() const { return {timers_.now(), timers_.wall_now()}; }
  // Ends the timer. At the end.
  async::Task<void> stop();
  // Counts of what still exists.
  std::vector<std::pair<std::size_t, const char*>> leftovers() const;

 protected:
  // For tests of exceptions.
  virtual void decide(const residency::Event& event, residency::ActionList& actions) {
    core_.handle(event, now(), actions);
  }

 private:
  // A pending call.
  class Ticket {
   public:
    explicit Ticket(CoreDriver& driver);
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    void set(Answer answer);
    // The answer; the caller owns its lease from then on.
    async::Task<Answer> wait();

   private:
    CoreDriver& driver_;

   public:
    const residency::TicketId id;

   private:
    async::Event done_;
    std::optional<Answer> answer_;
  };

  void step(const residency::Event& event);
  void perform(const residency::Action& action);
  void answer(residency::TicketId ticket, Answer answer);
  void answer_undecided(const residency::Event& event);
  void arm(std::optional<MonoTime> time);
  async::Task<void> wake(MonoTime when);
  // False, and a log line, if `work` throws.
  bool goes_well(const char* what, auto&& work) noexcept;

  // The event that replaces the answer to a failed action.
  void failed(const residency::CheckLoad& action);
  void failed(const residency::DropCheck&) {}
  void failed(const residency::StartLoad& action);
  void failed(const residency::AbortLoad& action) { dispatch(residency::InstanceStopped{action.instance}); }
  void failed(const residency::StopInstance& action) { dispatch(residency::InstanceStopped{action.instance}); }
  void failed(const residency::Recall&) {}
  void failed(const residency::Downsize& action) { dispatch(residency::DownsizeFailed{action.instance}); }
  void failed(const residency::SampleMemory&) { dispatch(residency::MemorySampled{}); }
  void failed(const residency::WatchMemory&) {}
  void failed(const residency::PinChanged&) {}

  async::Executor home_;
  async::Timers& timers_;
  ActionExecutor& executor_;
  residency::Core core_;
  std::unordered_map<residency::TicketId, Ticket*> tickets_;
  std::uint64_t last_ticket_ = 0;
  std::vector<residency::Event> events_;  // queued while actions ran
  residency::ActionList actions_;
  bool dispatching_ = false;
  std::optional<MonoTime> unarmed_;  // a tick is needed, but the timer couldn't be set
  async::TaskGroup alarm_;
};

}  // namespace corral::router
