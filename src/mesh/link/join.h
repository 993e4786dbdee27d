// Joining a mesh with a token, from both sides. Over a connection of purpose `join`:
//
//   joiner                               issuer
//   ask: mesh, token's key, signature →  knows the token? is it open? does the signature fit this connection?
//                                      ← proved
//                                        records the use of the token, then signs the admit, both on the disk
//                                      ← admitted: how the mesh was founded
//                                      ← members: pages of records
//   checks that the founding is the token's mesh, and that issuer and itself are members
//
// Or "refused" with a cause at any place. A node that the issuer's configuration names asks for the mesh 0, and its
// proof counts for nothing: its key is what the issuer knows. Belongs to one loop.
#pragma once

#include <functional>

#include "async/timer.h"
#include "mesh/members/join_token_store.h"
#include "mesh/members/member_store.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

enum class JoinStep { dial, handshake, proof, admit, members };
std::string_view name_of(JoinStep step);

// Which step a failed join stopped at: Error::fact<JoinFailure>().
struct JoinFailure {
  JoinStep step;
};

// Dial and handshake have the deadlines of the network, and are told as one step (dial) when they begin.
struct JoinOptions {
  Millis proof{3000};
  Millis admit{5000};
  Millis members{5000};
  std::function<void(JoinStep, const Address&)> on_step;  // a step begins, at that address
};

// The members of the mesh, this node among them. Tries the token's addresses one after the other until one answers.
// Errors, all with JoinFailure and a message that names step and address: those of Network::dial; timed_out;
// token_unknown, token_used, token_expired, token_withdrawn, wrong_proof, revoked, foreign_mesh, too_many, overloaded
// as the issuer says; malformed and forged for answers that make no sense.
async::Task<Result<MemberSet>> join_mesh(Network& network, async::Timers& timers, SigningKey own, JoinToken token,
                                         JoinOptions options);

// The same without a token, for a node that the configuration of a member names, as this node's names that member. Of
// whatever mesh that is: the configuration says whom to trust. Errors: the same; token_unknown when this node isn't
// named.
async::Task<Result<MemberSet>> join_by_name(Network& network, async::Timers& timers, SigningKey own, NodeId member,
                                            std::vector<Address> addresses, JoinOptions options);

// The issuer's side. What it refers to outlives the serving.
struct JoinServiceContext {
  const SigningKey& own;
  MemberStore& book;
  JoinTokenStore& tokens;
  async::Timers& timers;
  Millis limit{10000};                            // for all steps together
  std::function<bool(const NodeId&)> named = {};  // by the configuration: needs no token
};

// Serves one connection of purpose `join`; returns who was admitted. A peer that is refused learns the cause, and
// nothing has changed. Errors: the cause.
async::Task<Result<NodeId>> serve_join(std::unique_ptr<Stream> stream, JoinServiceContext desk);

// The doorkeeper's rule: members for everything, others only to join, and only while a token is out.
Result<> may_enter(const MemberSet& members, bool token_is_out, const PublicKey& key, Purpose purpose);

}  // namespace corral::mesh
