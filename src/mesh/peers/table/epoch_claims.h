// The epochs of this node and of its peers, as signed claims. Belongs to the mesh's loop.
#pragma once

#include <filesystem>

#include "mesh/identity/keys.h"
#include "mesh/peers/table/peer_record.h"

namespace corral::mesh {

class EpochClaims {
 public:
  // `folder`: of the file with the own epoch.
  EpochClaims(const SigningKey& own, const Boot& boot, std::filesystem::path folder);

  const Boot& boot() const { return boot_; }
  const EpochClaim& own() const { return own_claim_; }

  // Takes a claim of `peer` from any node. True if it is genuine and newer than the known one.
  static bool learn(PeerRecord& peer, const EpochClaim& claim);
  // Takes a peer's claim of this node. True if the claim requires a higher epoch, which this node has from now on.
  bool learn_own(const EpochClaim& held);

 private:
  const SigningKey own_;
  const std::filesystem::path folder_;
  Boot boot_;
  EpochClaim own_claim_;
};

}  // namespace corral::mesh
