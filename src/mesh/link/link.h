// A link: two nodes that talk over control frames, and each knows that the other lives. "Routable" means that the link
// is up. Belongs to one loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "mesh/identity/epoch.h"
#include "mesh/link/frame.h"
#include "mesh/link/link_failure_detector.h"
#include "mesh/members/member_records.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

// Why a link ended; the numbers are the wire's. The first ones are told to the peer, the last ones are found out.
enum class CloseReason : std::uint8_t {
  stopping = 1,      // the node leaves or is shut down
  superseded = 2,    // another link of the same pair stays
  revoked = 3,       // the peer was thrown out
  foreign_mesh = 4,  // the peer is of another mesh
  malformed = 5,     // the peer sent what makes no sense
  overrun = 6,       // the peer sent more than is taken
  silent = 7,        // the peer isn't heard any more
  deaf = 8,          // the peer doesn't hear any more
  slow = 9,          // the peer doesn't take what it is sent
  lost = 64,         // the connection broke, or the peer's process ended
};
std::string_view name_of(CloseReason reason);

struct Closing {
  CloseReason reason{};
  bool by_peer = false;  // it told us
  std::string text;      // one sentence for people, 200 characters at most
};

// What each side says first.
struct Hello {
  MeshId mesh;
  std::uint16_t minor = 0;          // of the protocol; both use the smaller one
  Sha256 members{};                 // digest of the sender's set: equal ones need no exchange
  EpochClaim claim;                 // the sender's life
  std::optional<EpochClaim> heard;  // the newest life of the peer that the sender heard of
};

inline constexpr std::uint16_t kProtocolMinor = 0;
std::string encode(const Hello& hello);
// Says nothing about signatures. Errors: malformed.
Result<Hello> decode_hello(std::string_view bytes);

// The payload of a close frame, and back; what makes no sense is `lost`.
std::string encode(CloseReason reason, std::string_view text);
Closing decode_closing(std::string_view bytes);

class Link {
 public:
  virtual ~Link() = default;

  virtual const Peer& peer() const = 0;
  // What the peer said of itself: of this mesh, its claim genuine.
  virtual const Hello& hello() const = 0;

  // Returns when the frame has its place in the queue, which is bounded: it waits for a peer that is slow. Errors:
  // link_closed, too_large.
  virtual async::Task<Result<>> send(Frame frame) = 0;
  // The same without waiting. Errors: link_closed, too_large, overloaded (no room: nothing was queued).
  virtual Result<> offer(Frame frame) = 0;
  // The next frame; heartbeats and the like aren't seen here. Frames that came before the end are still given out.
  // Errors: link_closed.
  virtual async::Task<Result<Frame>> receive() = 0;

  // Tells the peer if that is still possible, and ends. The first reason counts. What was queued goes first where the
  // reason is no fault (stopping, superseded, revoked).
  virtual void close(CloseReason reason, std::string text = {}) = 0;
  // Returns when the link has ended, and has told the peer or given up telling it (within a second).
  virtual async::Task<void> finished() = 0;
  // Why it ended; nothing while it is up.
  virtual const std::optional<Closing>& closing() const = 0;

  // Requests that the peer says it holds, by its last heartbeat, and when that came.
  virtual const std::vector<InFlightId>& peer_holds() const = 0;
  virtual MonoTime last_heartbeat() const = 0;
  virtual std::optional<Millis> round_trip() const = 0;
};

}  // namespace corral::mesh
