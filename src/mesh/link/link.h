// A link: the control connection of two members, by which each knows that the other is alive. "Routable" means that the
// link is up. Belongs to one loop.
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

// Why a link ended; the numbers are the wire's. All but `lost` are sent to the peer.
enum class CloseReason : std::uint8_t {
  stopping = 1,      // the node leaves or is shut down
  superseded = 2,    // another link of the same pair stays
  revoked = 3,       // the peer was revoked
  foreign_mesh = 4,  // the peer is of another mesh
  malformed = 5,     // the peer sent malformed frames
  overrun = 6,       // the peer sent more than its limit
  silent = 7,        // nothing more comes from the peer
  deaf = 8,          // the peer receives nothing more
  slow = 9,          // the peer reads too slowly
  lost = 64,         // the connection broke, or the peer's process ended
};
std::string_view name_of(CloseReason reason);

struct Closing {
  CloseReason reason{};
  bool by_peer = false;  // the peer sent the reason
  std::string text;      // one sentence for people, 200 characters at most
};

// The first frame of each side.
struct Hello {
  MeshId mesh;
  std::uint16_t minor = 0;                // of the protocol; both use the smaller one
  Sha256 members{};                       // digest of the sender's set: equal ones need no exchange
  EpochClaim claim;                       // the sender's epoch
  std::optional<EpochClaim> known_claim;  // the newest epoch of the peer that the sender knows
};

inline constexpr std::uint16_t kProtocolMinor = 0;
std::string encode(const Hello& hello);
// Doesn't check signatures. Errors: malformed.
Result<Hello> decode_hello(std::string_view bytes);

// The payload of a close frame, and back; an invalid one is `lost`.
std::string encode(CloseReason reason, std::string_view text);
Closing decode_closing(std::string_view bytes);

class Link {
 public:
  virtual ~Link() = default;

  virtual const Peer& peer() const = 0;
  // The peer's hello, checked: of this mesh, with a genuine claim.
  virtual const Hello& hello() const = 0;

  // Returns when the frame is in the queue, which is bounded: waits if the peer is slow. Errors: link_closed,
  // too_large.
  virtual async::Task<Result<>> send(Frame frame) = 0;
  // The same without waiting. Errors: link_closed, too_large, overloaded (the queue is full: nothing was queued).
  virtual Result<> offer(Frame frame) = 0;
  // The next frame, without heartbeats and other frames of the link itself. Frames that came before the end are still
  // returned. Errors: link_closed.
  virtual async::Task<Result<Frame>> receive() = 0;

  // Sends the reason to the peer if that is still possible, and ends. The first reason is kept. Queued frames are sent
  // first if the reason is no fault (stopping, superseded, revoked).
  virtual void close(CloseReason reason, std::string text = {}) = 0;
  // Returns when the link has ended, and the reason was sent or the limit of a second has passed.
  virtual async::Task<void> finished() = 0;
  // Why the link ended; nothing while it is up.
  virtual const std::optional<Closing>& closing() const = 0;

  // In-flight requests in the peer's last heartbeat, and when it came.
  virtual const std::vector<InFlightId>& peer_holds() const = 0;
  virtual MonoTime last_heartbeat() const = 0;
  virtual std::optional<Millis> round_trip() const = 0;
};

}  // namespace corral::mesh
