// A request's hold on a loaded model. While it lives the model can't be evicted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backends/wrapped_server.h"
#include "residency/types.h"

namespace corral::router {

// One backend process from the start of its load to its end, as the router and its leases share it. The object (not
// the process) lives as long as somebody refers to it.
struct Running;

// Move-only. May be used and dropped on any loop.
class Lease {
 public:
  Lease() = default;
  // `give_back` is called once, on the loop where the lease ends.
  Lease(std::shared_ptr<Running> running, std::move_only_function<void()> give_back);
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { give_back(); }

  explicit operator bool() const { return running_ != nullptr; }
  // Where to send the request. For use on `executor`'s loop.
  http::Target& target(async::Executor executor) const;
  // Tokens that a conversation with it may have; 0: not known.
  std::uint64_t context_window() const;
  // Returns when the process behind it has ended (on any loop).
  async::Task<std::string> until_gone() const;
  // The request's answer streams: shown in health as long as the lease lives.
  void mark_streaming();
  // Ends the hold now.
  void give_back();

 private:
  std::shared_ptr<Running> running_;
  std::move_only_function<void()> give_back_;
  bool streams_ = false;
};

}  // namespace corral::router
