// The epochs of this node and of its peers, as signed claims. Belongs to the mesh's loop.
#pragma once

#include <filesystem>

#include "mesh/identity/keys.h"
#include "mesh/peers/peer_record.h"

namespace corral::mesh {

class EpochClaims {
 public:
  // `folder`: of the file that holds the own count.
  EpochClaims(const SigningKey& own, const Boot& boot, std::filesystem::path folder);

  const Boot& boot() const { return boot_; }
  const EpochClaim& own() const { return own_claim_; }

  // What somebody holds of `peer`. True when it is genuine and newer than what is known.
  static bool learn(PeerRecord& peer, const EpochClaim& said);
  // What a peer holds of this node. True when it is a later epoch than this one, which is the next from now on.
  bool learn_own(const EpochClaim& held);

 private:
  const SigningKey own_;
  const std::filesystem::path folder_;
  Boot boot_;
  EpochClaim own_claim_;
};

}  // namespace corral::mesh
