// The parts of PeerManager, put together. Each knows those above it that it was given, and none below. Tasks hold all
// of them, so that they outlive PeerManager until the tasks have unwound.
#pragma once

#include "mesh/peers/connection_acceptor.h"
#include "mesh/peers/link_dialler.h"

namespace corral::mesh {

struct PeerManagerParts {
  // What is referred to outlives this. Whoever makes it calls peers.own_by() then.
  PeerManagerParts(async::Executor executor, async::Timers& timers, const SigningKey& own_key, MemberStore& members,
                   JoinTokenStore& issued, PeerManagerOptions options);
  PeerManagerParts(const PeerManagerParts&) = delete;
  PeerManagerParts& operator=(const PeerManagerParts&) = delete;

  void start(Network& network);
  // Cancels all; nothing begins any more. Once.
  void end();
  // After end(): until nothing runs that could touch what this was given, and what was to be written is.
  static async::Task<void> until_unwound(std::shared_ptr<PeerManagerParts> parts);

  const SigningKey own;
  MemberStore& book;
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
