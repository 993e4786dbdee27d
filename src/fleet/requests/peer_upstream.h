// The Upstream of a request that a peer answers.
#pragma once

#include <memory>

#include "fleet/requests/peer_calls.h"

namespace corral::fleet {

// On the loop of the request. Its target adds the peer headers to the canonical head, and removes internal headers from
// the response. It translates the peer's failure for the forwarder: not begun, or ended with a process.
class PeerUpstream final : public router::Upstream, public http::Target {
 public:
  PeerUpstream(std::shared_ptr<PeerCall> call, const router::LeaseRequest& request);

  http::Target& target(async::Executor) override { return *this; }
  std::uint64_t context() const override { return call_->to().context; }
  router::NodeRef node() const override { return node_; }
  async::Task<router::UpstreamExit> wait_for_exit() override;
  void stream_began() override {}
  void stream_ended() override {}

  async::Task<Result<http::Response>> send(const http::RequestHead& head, std::string_view body) override;
  async::Task<Result<http::Response>> upload(const http::RequestHead& head, http::BodySource& body) override;

 private:
  http::RequestHead head_for_peer(const http::RequestHead& head) const;

  const std::shared_ptr<PeerCall> call_;
  const router::NodeRef node_;
  const bool stream_;
  const std::optional<Millis> ping_interval_;
  const std::uint64_t context_;
};

}  // namespace corral::fleet
