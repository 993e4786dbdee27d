// Whose inputs come next: the requests that wait for a pooling worker. Clients take turns, however many requests each
// of them has, and so do the requests of a client. Not safe on threads; what changes something doesn't allocate, so
// nobody is ever lost.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "engine/pooled/pooled_pass.h"
#include "engine/pooled/pooled_state.h"

namespace corral::engine {

class PooledTurns {
 public:
  struct Request {
    std::shared_ptr<PooledState> job;
    std::size_t next = 0;  // input
    bool had_turn = false;

    PooledView left() const { return std::span(job->job().inputs).subspan(next); }
    bool over() const { return job->cancelled() || job->done() || next == job->job().inputs.size(); }
  };

  bool empty() const { return clients_.empty(); }
  // Behind its client's others. Throws std::bad_alloc, and then it isn't there.
  void add(std::shared_ptr<PooledState> job);
  // Up to so many, whose turn it is first, first: one of each client, then a second one of each that has one, and so
  // on. Valid until one of the calls below.
  std::vector<Request*> first(std::size_t most);
  // Those of first() that got something into the pass have had_turn: they stand behind their client's others now, and
  // clients whose first request is one of them behind other clients.
  void go_round() noexcept;
  // Those whose reader has left, or that have all they wanted.
  void forget_over() noexcept;
  void fail_all(const Error& error) noexcept;

 private:
  struct Client {
    std::string tag;
    std::list<Request> requests;  // not empty
  };

  std::list<Client> clients_;
};

}  // namespace corral::engine
