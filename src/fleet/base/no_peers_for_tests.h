// Peers of a test that needs no network.
#pragma once

#include "mesh/identity/errors.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// No peer is reachable; counts attempts.
class NoPeers : public mesh::Peers {
 public:
  void listen(mesh::PeerEvents&) override {}
  void forget(mesh::PeerEvents&) override {}
  const mesh::NodeId& own() const override { return own_; }
  const mesh::Boot& boot() const override { return boot_; }
  std::vector<mesh::PeerView> view() const override { return {}; }
  bool is_up(const mesh::NodeId&) const override { return false; }
  void send(const mesh::NodeId&, mesh::Frame) override {}
  async::Task<Result<std::unique_ptr<mesh::Stream>>> open(mesh::NodeId, mesh::Purpose) override {
    ++opened;
    co_return fail(mesh::errc::link_closed, "it has just gone");
  }
  void on_stream(mesh::Purpose, StreamHandler) override {}
  std::vector<mesh::InFlightId> listed_by(const mesh::NodeId&) const override { return {}; }
  std::optional<MonoTime> last_heartbeat(const mesh::NodeId&) const override { return std::nullopt; }
  void hold(const mesh::NodeId&, mesh::InFlightId) override {}
  void release(const mesh::NodeId&, mesh::InFlightId) override {}
  void hint(const mesh::NodeId&, const mesh::Address&) override {}
  bool take_load(const mesh::NodeId&) override { return true; }

  int opened = 0;
  mesh::NodeId own_;

 private:
  mesh::Boot boot_;
};

}  // namespace corral::fleet
