// The house: the decision core, the events it is told, the actions it wants run, and those who wait for its answers.
//
// Whatever throws in a step (a decision, one action, the telling of it), the next step is taken all the same: an action
// that couldn't be run comes back to the core as the event of its failure, a question that couldn't be decided is
// answered with an error. On the home loop.
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

// Runs what the core wants done beyond answering. Nothing waits in here; events that come of it at once are queued.
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
  // The core has taken a step and is at this revision now.
  virtual void stepped(std::uint64_t revision) = 0;
};

// What the core answers to a question.
using Answer = std::variant<residency::Granted, residency::Loaded, residency::Unloaded, residency::PinChanged,
                            residency::Relieved, Error>;

class CoreDriver {
 public:
  // `hands` must outlive it.
  CoreDriver(async::Executor home, async::Timers& timers, residency::Core core, ActionExecutor& hands);
  virtual ~CoreDriver() = default;

  // Tells the core, and runs what it wants done. May be called from inside an action: then the event follows.
  void dispatch(residency::Event event) noexcept;
  // The answer to a question that has a ticket. Who goes without it leaves the queue.
  template <typename Question>
  async::Task<Answer> ask(Question question) {
    Ticket ticket(*this);
    question.ticket = ticket.id;
    dispatch(std::move(question));
    co_return co_await ticket.wait();
  }
  // The short way to a model that is ready.
  std::optional<residency::Core::Lease> try_acquire(const ModelName& model,
                                                    residency::RequestOrigin origin = residency::RequestOrigin::local);
  void return_lease(residency::LeaseId lease) noexcept { dispatch(residency::ReturnLease{lease}); }

  const residency::Core& core() const { return core_; }
  // Core::may_evict.
  bool may_evict(const residency::SpecPtr& spec) { return core_.may_evict(spec, now()); }
  residency::Now now() const { return {timers_.now(), timers_.wall_now()}; }
  // No more ticks. At the end.
  async::Task<void> stop();
  // What is still there, counted.
  std::vector<std::pair<std::size_t, const char*>> leftovers() const;

 protected:
  // For tests of what is done when it throws.
  virtual void decide(const residency::Event& event, residency::ActionList& actions) {
    core_.handle(event, now(), actions);
  }

 private:
  // Somebody waiting for an answer.
  class Ticket {
   public:
    explicit Ticket(CoreDriver& driver);
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    void set(Answer answer);
    // The answer; what it holds is the caller's from then on.
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
  // False, and a line in the log, when `work` throws.
  bool goes_well(const char* what, auto&& work) noexcept;

  // What stands in for the answer to an action that couldn't be run.
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
  ActionExecutor& hands_;
  residency::Core core_;
  std::unordered_map<residency::TicketId, Ticket*> tickets_;
  std::uint64_t last_ticket_ = 0;
  std::vector<residency::Event> events_;  // raised while actions ran
  residency::ActionList actions_;
  bool dispatching_ = false;
  std::optional<MonoTime> unarmed_;  // a tick is needed, but the alarm couldn't be set
  async::TaskGroup alarm_;
};

}  // namespace corral::router
