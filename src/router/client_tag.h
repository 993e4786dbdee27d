// Who a request comes from, for a backend that gives clients equal turns: a number that says nothing else, and another
// one each time the server runs. Safe on every thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace corral::router {

class ClientTags {
 public:
  ClientTags();
  explicit ClientTags(std::uint64_t secret) : secret_(secret) {}

  // `key` identifies the key that was shown; without one it is the address that counts.
  std::string of(std::string_view key, std::string_view peer) const;

 private:
  const std::uint64_t secret_;
};

}  // namespace corral::router
