// What a node tells over its links so that all find each other: its own life, and for members it knows, where they can
// be dialled and whether it has a link to them. Sent whole when a link comes up and when something changes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mesh/identity/address.h"
#include "mesh/identity/epoch.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

struct Whereabouts {
  struct Node {
    NodeId id;
    bool linked = false;  // the sender has a link to it
    std::vector<Address> addresses;
    LifeNonce life{};  // in which the link reaches it; zeros: not told
    friend bool operator==(const Node&, const Node&) = default;
  };

  EpochClaim claim;         // of the sender
  std::vector<Node> nodes;  // the sender too, with its own addresses
  friend bool operator==(const Whereabouts&, const Whereabouts&) = default;
};

inline constexpr std::size_t kMostAddressesOfNode = 8;

// Nodes that a frame has no room for are left out, the last ones first.
std::string encode(const Whereabouts& whereabouts);
// Says nothing about signatures. Errors: malformed, also for more addresses of a node than it may have.
Result<Whereabouts> decode_whereabouts(std::string_view bytes);

// "Dial me, and say this number first: then the stream is mine, for that purpose."
struct DialMe {
  std::uint64_t number = 0;
  Purpose purpose{};
};
std::string encode(const DialMe& ask);
// Errors: malformed, also for purposes that streams aren't asked for.
Result<DialMe> decode_dial_me(std::string_view bytes);

// What is said first on a stream of purpose `relay`.
struct RelayWord {
  enum class Role : std::uint8_t {
    carry = 1,    // to the relay: carry what follows to `node`
    deliver = 2,  // from the relay: what follows is from `node`
  };
  Role role{};
  NodeId node;
};
inline constexpr std::size_t kRelayWordBytes = 33;
std::string encode(const RelayWord& word);
// Errors: malformed.
Result<RelayWord> decode_relay_word(std::string_view bytes);

// The relay's answer to `carry`.
enum class RelayAnswer : std::uint8_t { carried = 1, not_linked = 2, refused = 3 };

}  // namespace corral::mesh
