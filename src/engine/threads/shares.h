// How many answers each client has under way: so that one with a thousand leaves room for others. Safe on every thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace corral::engine {

class Shares {
 public:
  // What a client holds, until the last copy goes; may outlive the Shares. None: it was refused.
  using Held = std::shared_ptr<const void>;

  explicit Shares(std::uint64_t limit) : state_(std::make_shared<State>(limit)) {}

  // Beside others a client has no more than is free behind it, but a single one is taken as long as one is free. Alone
  // it may have seven eighths, its first request alone all.
  Held enter(const std::string& client, std::uint64_t count);
  // What a client has now.
  std::uint64_t held(const std::string& client) const;

 private:
  struct State {
    explicit State(std::uint64_t the_limit) : limit(the_limit) {}
    bool fits(std::uint64_t held, std::uint64_t count) const;

    const std::uint64_t limit;
    mutable std::mutex mutex;  // guards all below
    std::uint64_t all = 0;
    std::map<std::string, std::uint64_t> clients;  // that hold something
  };
  const std::shared_ptr<State> state_;
};

}  // namespace corral::engine
