// A request's hold on an upstream. While a lease on a local model exists, the model can't be evicted.
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
  Lease(std::shared_ptr<Upstream> upstream, std::move_only_function<void()> give_back);
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { give_back(); }

  explicit operator bool() const { return upstream_ != nullptr; }
  // The target of the request. For use on `executor`'s loop.
  http::Target& target(async::Executor executor) const { return upstream_->target(executor); }
  // Tokens that one conversation may have; 0: unknown.
  std::uint64_t context_window() const { return upstream_->context(); }
  // The node of the upstream.
  NodeRef node() const { return upstream_->node(); }
  // Returns when the upstream has ended (on any loop).
  async::Task<UpstreamExit> wait_for_exit() const;
  // Marks the response as a stream: shown in health as long as the lease lives.
  void mark_streaming();
  // Ends the lease now.
  void give_back();

 private:
  std::shared_ptr<Upstream> upstream_;
  std::move_only_function<void()> give_back_;
  bool streams_ = false;
};

}  // namespace corral::router
