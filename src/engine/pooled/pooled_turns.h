// Order of the requests that wait for a pooling worker. Clients take turns, however many requests each has, and so do
// the requests of a client. Not thread-safe. Changes do not allocate, so no request is ever lost.
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
  // Adds a request behind its client's others. Throws std::bad_alloc, and then nothing has changed.
  void add(std::shared_ptr<PooledState> job);
  // The first `max` requests by turn: one of each client, then a second one of each that has one, and so on. Valid
  // until the next call below.
  std::vector<Request*> first(std::size_t max);
  // Requests of first() with inputs in the pass have had_turn: they move behind their client's others, and a client
  // whose first request is one of them moves behind other clients.
  void go_round() noexcept;
  // Removes requests that are complete or whose reader has left.
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
