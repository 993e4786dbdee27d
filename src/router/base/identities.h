// Who and where, of requests: names that must not pass for one another. Plain values.
#pragma once

#include <string>

#include "base/named.h"

namespace corral::router {

// A node of a mesh, in words that its LeaseProvider knows; empty: this machine, or none.
using NodeRef = Named<std::string, struct NodeRefTag>;
// The key that a request came with, by its name; of a peer's request the node and the tag of its client; empty: none
// was needed.
using OwnerId = Named<std::string, struct OwnerIdTag>;
// The address that a request came from, as of http::Request::peer.
using ClientAddress = Named<std::string, struct ClientAddressTag>;

}  // namespace corral::router
