// What can go wrong between nodes, as causes that a caller tells apart.
#pragma once

#include "base/error.h"

namespace corral::mesh {

enum class errc {
  malformed = 1,        // bytes that make no sense: cut off, too long, a field out of its range
  unsupported_version,  // of a format or of the protocol, from a newer corral
  too_large,            // over a bound of the protocol
  too_many,             // records of members, over their bound
  forged,               // a signature that doesn't fit
  foreign_mesh,         // of another mesh
  not_a_member,         // signed by, or is, a key that nobody admitted
  revoked,              // a key that was thrown out, for ever
  unusable_identity,    // the node's key can't be read, or isn't one
  token_malformed,      // no token at all
  token_mistyped,       // a token with a wrong, missing or added character
  token_unknown,        // not issued here, or long gone
  token_expired,
  token_used,       // by another node
  token_withdrawn,  // by its issuer
  wrong_proof,      // of holding the token, or of another connection
  bad_address,      // no "host:port"
  unreachable,      // no connection came about
  timed_out,        // a step took longer than it may
  wrong_peer,       // somebody else answers at that address
  handshake_failed,
  link_closed,  // by one of its ends, or by the network; the message says why
  overloaded,   // as many as may are at it already
  not_offered,  // a model that isn't there, isn't hashed yet, or may not be copied
  disk_full,    // for a copy; the message names the folder and what is needed
  damaged,      // bytes of a copy that aren't what its list says
  name_taken,   // where a copy is to go there is a file of its name already
};

}  // namespace corral::mesh

CORRAL_DECLARE_ERRC(corral::mesh);
