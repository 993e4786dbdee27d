// Why the mesh refuses a request, or this node an operation of a member. A peer's answer keeps its own cause. Errors of
// connections between nodes are in mesh/identity/errors.h.
#pragma once

#include "base/error.h"

namespace corral::fleet {

enum class errc {
  ambiguous_model = 1,  // the name means different contents at different nodes
  nowhere,    // no node can serve the model now; the message says what is short, retry_after when to ask again
  peer_gone,  // the node that worked on the request is gone
  peer_busy,  // the node has its maximum of our requests

  no_mesh,          // this node is in no mesh
  in_a_mesh,        // this node is in a mesh already
  change_runs,      // another change of this kind is running
  node_not_found,   // no member has this name
  node_ambiguous,   // several members match
  own_node,         // the node is this one; leaving is another command
  stopping,         // the server shuts down
  copy_failed,      // of a model to this node; the message says why
  copy_not_needed,  // the model is on this node's disk
  out_of_reach,     // all nodes with the model are unreachable now; retry_after
  files_refused,    // of a copy: they are no valid model, or crashed their reader
  not_inspected,    // the files of a copy can't be inspected on this machine
  not_admin_here,   // the node accepts no orders of other nodes' administrators
  worker_refused,   // of a split: its node connects our engine to no worker; the message says why
  bad_split,        // of a model over these nodes: impossible with any amount of memory
  lends_nothing,    // the node is a client: it holds nothing for the mesh
  split_failed,     // a part of a split model didn't start, or has ended
  assigned,         // the node keeps the model, because an order assigns it there
};

}  // namespace corral::fleet

CORRAL_DECLARE_ERRC(corral::fleet);
