// The addresses of one member, by source. A false address costs only dials, because the node's key is pinned. Each
// source has its own few entries, and no source can replace those of another one. A plain value.
#pragma once

#include <optional>
#include <vector>

#include "mesh/net/stream.h"

namespace corral::mesh {

class AddressBook {
 public:
  static constexpr std::size_t kMaxAnnounced = 8;   // from the node itself
  static constexpr std::size_t kMaxConfigured = 8;  // from this node's administrator
  static constexpr std::size_t kMaxReported = 4;    // from other members
  static constexpr std::size_t kMaxHints = 4;       // from discovery hints

  // A connection to it succeeded.
  void proved(const Address& address) { proven_ = address; }
  // From the node itself: replaces its earlier addresses. True if that is news.
  bool announced(std::vector<Address> addresses);
  // The newest ones stay. True if no source had the address.
  bool reported(const Address& address);
  bool configured(const Address& address);
  bool hinted(const Address& address);
  // Another node answered there: drops the address, unless it comes from the configuration or the node itself.
  void is_elsewhere(const Address& address);

  const std::optional<Address>& proven() const { return proven_; }
  // Each address once, the best first: the proven one, then those of the configuration, the node itself, other members,
  // hints.
  std::vector<Address> all() const;
  // The most trusted source of the address. Addresses from the node itself rank like those from other members.
  Origin origin_of(const Address& address) const;
  // The proven address and those of the node itself: sent to other members.
  std::vector<Address> first_hand() const;
  // The addresses to keep over a restart: all but hints.
  std::vector<Address> lasting() const;

 private:
  bool knows(const Address& address) const;
  bool put(std::vector<Address>& list, std::size_t limit, const Address& address);

  std::optional<Address> proven_;
  std::vector<Address> configured_, announced_, reported_, hints_;
};

}  // namespace corral::mesh
