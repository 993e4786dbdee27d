#include "mesh/peers/table/epoch_claims.h"

#include "base/log.h"

namespace corral::mesh {

EpochClaims::EpochClaims(const SigningKey& own, const Boot& boot, std::filesystem::path folder)
    : own_(own), folder_(std::move(folder)), boot_(boot), own_claim_(make_claim(own, boot)) {}

bool EpochClaims::learn(PeerRecord& peer, const EpochClaim& claim) {
  if (claim.author != peer.key || (peer.claim && peer.claim->boot.epoch >= claim.boot.epoch)) return false;
  if (!is_genuine(claim)) return false;
  peer.claim = claim;
  return true;
}

bool EpochClaims::learn_own(const EpochClaim& held) {
  const auto epoch = learn_epoch(own_.public_key(), boot_, {&held, 1});
  if (epoch == boot_.epoch || epoch >= kMaxEpoch) return false;
  log::info("mesh", "a peer knows a later epoch of this node: changed the epoch to {}, from {}", epoch, boot_.epoch);
  boot_.epoch = epoch;
  if (auto kept = keep_epoch(folder_, epoch); !kept) {
    log::error("mesh", "{}; this node learns its epoch from peers again after the next start", kept.error().message);
  }
  own_claim_ = make_claim(own_, boot_);
  return true;
}

}  // namespace corral::mesh
