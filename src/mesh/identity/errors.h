// Errors between nodes.
#pragma once

#include "base/error.h"

namespace corral::mesh {

enum class errc {
  malformed = 1,        // invalid bytes: cut off, too long, a field out of its range
  unsupported_version,  // of a format or of the protocol, from a newer corral
  too_large,            // over a bound of the protocol
  too_many,             // records of members, over their bound
  forged,               // a wrong signature
  foreign_mesh,         // of another mesh
  not_a_member,         // signed by, or is, a key that no member admitted
  revoked,              // a revoked key
  unusable_identity,    // the node's key is unreadable or invalid
  token_malformed,      // no token at all
  token_mistyped,       // a token with a wrong, missing or added character
  token_unknown,        // not issued here, or forgotten since
  token_expired,
  token_used,       // by another node
  token_withdrawn,  // by its issuer
  wrong_proof,      // of holding the token, or of another connection
  bad_address,      // no "host:port"
  unreachable,      // no connection
  timed_out,        // a step took longer than its limit
  wrong_peer,       // another node answers at that address
  handshake_failed,
  link_closed,  // by one of its ends, or by the network; the message says why
  overloaded,   // a limit is reached: try again later
  not_offered,  // a model that isn't there, isn't hashed yet, or may not be copied
  disk_full,    // for a copy; the message has the folder and the needed bytes
  damaged,      // bytes of a copy that differ from its list
  name_taken,   // a file with the name of a copy exists already
};

}  // namespace corral::mesh

CORRAL_DECLARE_ERRC(corral::mesh);
