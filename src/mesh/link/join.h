// Joining a mesh with a token, from both sides. Over a connection of purpose `join`:
//
//   joiner                               issuer
//   ask: mesh, token's key, signature →  checks the token, and that the signature is of this connection
//                                      ← proved
//                                        records the use of the token, then signs the admit, both on the disk
//                                      ← admitted: how the mesh was founded
//                                      ← members: pages of records
//   checks that the founding is the token's mesh, and that issuer and itself are members
//
// Or "refused" with a cause at any point. A node that the issuer's configuration lists sends mesh 0, and its proof is
// ignored: the issuer knows its key. Belongs to one loop.
#pragma once

#include <functional>

#include "async/timer.h"
#include "mesh/members/join_token_store.h"
#include "mesh/members/member_store.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

enum class JoinStep { dial, handshake, proof, admit, members };
std::string_view name_of(JoinStep step);

// The step at which a join failed: Error::fact<JoinFailure>().
struct JoinFailure {
  JoinStep step;
};

// Dial and handshake have the deadlines of the network, and on_step reports them as one step (dial).
struct JoinOptions {
  Millis proof{3000};
  Millis admit{5000};
  Millis members{5000};
  std::function<void(JoinStep, const Address&)> on_step;  // called when a step begins, with the address
};

// The members of the mesh, this node among them. Tries the token's addresses one after the other until one answers.
// Errors, all with JoinFailure and a message that names step and address: those of Network::dial; timed_out;
// token_unknown, token_used, token_expired, token_withdrawn, wrong_proof, revoked, foreign_mesh, too_many, overloaded
// from the issuer; malformed and forged for invalid answers.
async::Task<Result<MemberSet>> join_mesh(Network& network, async::Timers& timers, SigningKey own, JoinToken token,
                                         JoinOptions options);

// The same without a token, for two nodes whose configurations list each other. Joins any mesh of that member: the
// configuration decides whom to trust. Errors: the same; token_unknown if the member's configuration doesn't list this
// node.
async::Task<Result<MemberSet>> join_by_name(Network& network, async::Timers& timers, SigningKey own, NodeId member,
                                            std::vector<Address> addresses, JoinOptions options);

// The issuer's side. The references outlive the serving.
struct JoinServiceContext {
  const SigningKey& own;
  MemberStore& store;
  JoinTokenStore& tokens;
  async::Timers& timers;
  Millis limit{10000};                            // for all steps together
  std::function<bool(const NodeId&)> named = {};  // whether the configuration lists the node: it needs no token
};

// Serves one connection of purpose `join`; returns the admitted node. A rejected peer gets the cause. Errors: the
// cause.
async::Task<Result<NodeId>> serve_join(std::unique_ptr<Stream> stream, JoinServiceContext service);

// The rule of authorization: members for all purposes, other nodes only to join, and only while a token is open.
Result<> may_enter(const MemberSet& members, bool token_is_out, const PublicKey& key, Purpose purpose);

}  // namespace corral::mesh
