// Where one member may be dialled, by who said so. What others say costs dials only: the node's key is pinned. So each
// source has a few places, and none takes another's. A plain value.
#pragma once

#include <optional>
#include <vector>

#include "mesh/net/stream.h"

namespace corral::mesh {

class AddressBook {
 public:
  static constexpr std::size_t kMaxSaid = 8;        // by the node itself
  static constexpr std::size_t kMaxConfigured = 8;  // by this node's administrator
  static constexpr std::size_t kMaxTold = 4;        // by other members
  static constexpr std::size_t kMaxHints = 4;       // by anybody

  // A connection came about there.
  void proved(const Address& address) { proven_ = address; }
  // By the node itself: takes the place of what it said before. True when that is news.
  bool said(std::vector<Address> addresses);
  // The newest stay. True when the address wasn't known from anybody.
  bool told(const Address& address);
  bool configured(const Address& address);
  bool hinted(const Address& address);
  // Another node answered there: what others said is dropped.
  void is_elsewhere(const Address& address);

  const std::optional<Address>& proven() const { return proven_; }
  // Each once, the best first: where a connection came about, what was configured, what the node said, what others
  // said.
  std::vector<Address> all() const;
  // Who says so whose word counts most. What the node says of itself is told, too.
  Origin origin_of(const Address& address) const;
  // Where a connection came about and what the node itself said: what is told to others.
  std::vector<Address> first_hand() const;
  // Worth keeping over a restart: no hints.
  std::vector<Address> lasting() const;

 private:
  bool knows(const Address& address) const;
  bool put(std::vector<Address>& list, std::size_t most, const Address& address);

  std::optional<Address> proven_;
  std::vector<Address> configured_, said_, told_, hints_;
};

}  // namespace corral::mesh
