// What two nodes say to each other around a canonical request: fields of its head and of its answer's, and comments in
// front of the events of a stream. None of it comes from a client, or reaches one. Pure.
//
// A request says which model it means by its name at the peer and by what it holds, so that it is never answered by
// another one. An answer that isn't one says whether the request was begun: what wasn't may be asked of somebody else,
// what ended a process counts for the request as an end here does.
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

// What the entry node says of a request.
struct PeerRequestInfo {
  mesh::InFlightId held = 0;  // its number, which the peer lists while it works on it
  std::string model;          // its name at the peer
  std::string content = {};   // SHA-256 in hexadecimal digits; empty: nobody has computed it
  bool stream = false;
  std::optional<Millis> ping_interval = {};
  std::uint64_t context = 0;  // tokens wanted; 0: whatever there is
  bool waits = false;         // nobody else can serve it: it may wait while the peer loads another model for others
  friend bool operator==(const PeerRequestInfo&, const PeerRequestInfo&) = default;
};
void write(http::Headers& headers, const PeerRequestInfo& errand);
// Errors: protocol::errc::missing_field, bad_value.
Result<PeerRequestInfo> read_errand(const http::Headers& headers);

// Why an answer isn't one, beside its status and text.
struct PeerFailure {
  // The request never reached a backend: the peer doesn't have the model, or can't take it now.
  bool unbegun = false;
  // Else a process ended under it, the peer's how-many-th, and so many requests were under way there.
  std::uint64_t process = 0;
  std::uint64_t requests = 0;
  friend bool operator==(const PeerFailure&, const PeerFailure&) = default;
};
void write(http::Headers& headers, const PeerFailure& mishap);
std::optional<PeerFailure> read_mishap(const http::Headers& headers);
// As a comment of a stream, with the empty line behind it; an error event follows.
std::string comment_of(const PeerFailure& mishap);
// Of a comment, ": ..." without its line ends; nothing: it is another one.
std::optional<PeerFailure> mishap_of(std::string_view comment);

// 421: the peer doesn't have the model, or lends nothing.
inline constexpr unsigned kNotHere = 421;

}  // namespace corral::fleet
