// The parts of PeerManager, put together. Each part uses only parts above it. Tasks hold all of them, so that the parts
// outlive PeerManager until the tasks have unwound.
#pragma once

#include "mesh/peers/dial/link_dialler.h"
#include "mesh/peers/streams/connection_acceptor.h"

namespace corral::mesh {

struct PeerManagerParts {
  // The references outlive this. Its creator must call peers.own_by() next.
  PeerManagerParts(async::Executor executor, async::Timers& timers, const SigningKey& own_key, MemberStore& members,
                   JoinTokenStore& issued, PeerManagerOptions options);
  PeerManagerParts(const PeerManagerParts&) = delete;
  PeerManagerParts& operator=(const PeerManagerParts&) = delete;

  void start(Network& network);
  // Cancels all tasks, and starts no new ones. Once.
  void end();
  // After end(): waits until no task uses the arguments, and all files are written.
  static async::Task<void> until_unwound(std::shared_ptr<PeerManagerParts> parts);

  const SigningKey own;
  MemberStore& store;
  JoinTokenStore& tokens;
  const DialRules dial_rules;

  PeerTable peers;
  PeerListeners listeners;
  PeerFileWriter file;
  EpochClaims claims;
  PeerExchanger exchanger;
  MemberSync sync;
  PeerDialler dialler;
  StreamAcceptor streams;
  ReverseDialler reverse;
  StreamOpener opener;
  LinkManager links;
  LinkDialler link_dialler;
  ConnectionAcceptor acceptor;
};

}  // namespace corral::mesh
