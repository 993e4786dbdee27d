#include "mesh/peers/peer_link.h"

#include "mesh/identity/errors.h"

namespace corral::mesh {

void PeerLink::send(Frame frame) {
  if (!link_) return;
  const auto offered = link_->offer(std::move(frame));
  if (!offered && offered.error().code == errc::overloaded) link_->close(CloseReason::slow);
}

std::shared_ptr<Link> PeerLink::replace(std::shared_ptr<Link> link, MonoTime now) {
  auto before = std::exchange(link_, std::move(link));
  minor_ = link_->hello().minor;
  ++count_;
  last_failure_.clear();
  if (!before) since_ = now;
  return before;
}

void PeerLink::end(const Closing& why, MonoTime now, MonoTime fresh_since) {
  link_.reset();
  last_end_ = why;
  since_ = now;
  fresh_since_ = fresh_since;
}

void PeerLink::failed(std::string why) {
  if (!link_) last_failure_ = std::move(why);
}

}  // namespace corral::mesh
