// A request's hold on something that answers for its model. While it lives a model here can't be evicted.
#pragma once

#include <functional>
#include <memory>

#include "router/base/upstream.h"

namespace corral::router {

// Move-only. May be used and dropped on any loop.
class Lease {
 public:
  Lease() = default;
  // `give_back` is called once, on the loop where the lease ends.
  Lease(std::shared_ptr<Upstream> answering, std::move_only_function<void()> give_back);
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { give_back(); }

  explicit operator bool() const { return answering_ != nullptr; }
  // Where to send the request. For use on `executor`'s loop.
  http::Target& target(async::Executor executor) const { return answering_->target(executor); }
  // Tokens that a conversation with it may have; 0: not known.
  std::uint64_t context_window() const { return answering_->context(); }
  // That answers.
  NodeRef node() const { return answering_->node(); }
  // Returns when whoever answers has gone (on any loop).
  async::Task<UpstreamExit> wait_for_exit() const;
  // The request's answer streams: shown in health as long as the lease lives.
  void mark_streaming();
  // Ends the hold now.
  void give_back();

 private:
  std::shared_ptr<Upstream> answering_;
  std::move_only_function<void()> give_back_;
  bool streams_ = false;
};

}  // namespace corral::router
