// Strong types for identities of requests. Plain values.
#pragma once

#include <string>

#include "base/named.h"

namespace corral::router {

// A node of a mesh, as its LeaseProvider writes it; empty: this machine, or none.
using NodeRef = Named<std::string, struct NodeRefTag>;
// The name of the key of a request; for a peer's request the node and the tag of its client; empty: no key was needed.
using OwnerId = Named<std::string, struct OwnerIdTag>;
// The client's address, as of http::Request::peer.
using ClientAddress = Named<std::string, struct ClientAddressTag>;

}  // namespace corral::router
