// Headers that two nodes add to a canonical request and its response, and comments before the events of a stream. They
// never come from a client and never reach a client. Pure.
//
// A request identifies its model by its name at the peer and by its content, so that no other model answers it. The
// response to a failed request says if the request was begun. If not, another node may be asked; if it ended a process,
// this counts as an end of a process at this node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "http/message.h"
#include "mesh/link/link_failure_detector.h"

namespace corral::fleet {

// Request headers from the entry node.
struct PeerRequestInfo {
  mesh::InFlightId held = 0;  // in-flight number, which the peer lists while it works on the request
  std::string model;          // the model's name at the peer
  std::string content = {};   // SHA-256 in hexadecimal digits; empty: not computed yet
  bool stream = false;
  std::optional<Millis> ping_interval = {};
  std::uint64_t context = 0;  // tokens wanted; 0: no requirement
  bool waits = false;  // no other node can serve it: it may wait while the peer loads another model for other nodes
  friend bool operator==(const PeerRequestInfo&, const PeerRequestInfo&) = default;
};
void write(http::Headers& headers, const PeerRequestInfo& info);
// Errors: protocol::errc::missing_field, bad_value.
Result<PeerRequestInfo> read_request_info(const http::Headers& headers);

// Why a request failed, beside the response's status and text.
struct PeerFailure {
  // The request never reached a backend: the peer doesn't have the model, or has no capacity now.
  bool unbegun = false;
  // Otherwise a process ended during the request: its number at the peer, and the number of requests that it had.
  std::uint64_t process = 0;
  std::uint64_t requests = 0;
  friend bool operator==(const PeerFailure&, const PeerFailure&) = default;
};
void write(http::Headers& headers, const PeerFailure& failure);
std::optional<PeerFailure> read_failure(const http::Headers& headers);
// The failure as a comment of a stream, with the empty line after it; an error event follows.
std::string comment_of(const PeerFailure& failure);
// Parses a comment, ": ..." without its line ends; nullopt: it is another comment.
std::optional<PeerFailure> failure_in_comment(std::string_view comment);

// Status 421: the peer doesn't have the model, or lends nothing.
inline constexpr unsigned kNotHere = 421;

}  // namespace corral::fleet
