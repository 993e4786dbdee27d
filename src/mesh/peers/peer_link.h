// The present link to one peer (up or not), and the results of the last ones. Belongs to the mesh's loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mesh/link/link.h"
#include "mesh/peers/streams/signal.h"

namespace corral::mesh {

class PeerLink {
 public:
  PeerLink(async::Executor executor, MonoTime now) : since_(now), fresh_since_(now), changed_(executor) {}

  // nullptr: not up.
  const std::shared_ptr<Link>& get() const { return link_; }
  bool is_up() const { return link_ != nullptr; }
  // Closes the link if its queue is full. Does nothing without a link.
  void send(Frame frame);

  // `link` is up from now on. Returns the one that it replaces, if there is one.
  std::shared_ptr<Link> replace(std::shared_ptr<Link> link, MonoTime now);
  // The link has ended. `fresh_since`: see below.
  void end(const Closing& why, MonoTime now, MonoTime fresh_since);
  // For a former member: not up from now on; sends no notification.
  std::shared_ptr<Link> release() { return std::exchange(link_, nullptr); }
  // A dial failed; others of the same time may have succeeded.
  void failed(std::string why);
  // There is a reason to dial often again.
  void refresh(MonoTime now) { fresh_since_ = now; }
  // True if being up has changed since the last call.
  bool has_changed() { return std::exchange(reported_up_, is_up()) != is_up(); }
  // Whether the link was up at the last call of has_changed().
  bool was_up() const { return reported_up_; }
  Signal& changed() { return changed_; }  // up, another one, down

  MonoTime since() const { return since_; }              // start of being up, or not up
  MonoTime fresh_since() const { return fresh_since_; }  // time of the last reason to dial often
  std::uint64_t count() const { return count_; }         // links that came up since the start
  std::uint16_t minor() const { return minor_; }         // of the protocol, from the peer's last hello
  const std::optional<Closing>& last_end() const { return last_end_; }
  const std::string& last_failure() const { return last_failure_; }  // since the last link

 private:
  std::shared_ptr<Link> link_;
  MonoTime since_, fresh_since_;
  std::uint64_t count_ = 0;
  std::uint16_t minor_ = 0;
  std::optional<Closing> last_end_;
  std::string last_failure_;
  bool reported_up_ = false;
  Signal changed_;
};

}  // namespace corral::mesh
