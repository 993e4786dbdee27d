// Why the mesh refuses a request, or this node what was asked of it as a member; what a peer answered passes through
// with its own cause, and what goes wrong between nodes is in mesh/identity/errors.h.
#pragma once

#include "base/error.h"

namespace corral::fleet {

enum class errc {
  ambiguous_model = 1,  // the name means different contents at different nodes
  nowhere,    // no node can serve the model now; the message says what is short, retry_after when to ask again
  peer_gone,  // the node that worked on the request is gone
  peer_busy,  // the node has as many of our requests as it takes

  no_mesh,          // this node is in none
  in_a_mesh,        // it is in one already
  change_runs,      // another change of that kind is under way
  node_not_found,   // no member is called so
  node_ambiguous,   // several are
  own_node,         // leaving is another command
  stopping,         // the server shuts down
  copy_failed,      // of a model to this node; the message says why
  copy_not_needed,  // the model is on this node's disk
  out_of_reach,     // only nodes have the model that can't be reached now; retry_after
  files_refused,    // of a copy: they are no model, or broke who read them
  not_inspected,    // nobody could look at the files of a copy on this machine
  not_admin_here,   // the node takes no orders of other nodes' administrators
  worker_refused,   // of a split: its node leads no engine of ours to a worker; the message says why
  bad_split,        // of a model over these nodes: it can't be, whatever memory there is
  lends_nothing,    // the node is a client: nothing of the mesh's can be there
  split_failed,     // a part of a model that several nodes serve together didn't start, or has ended
};

}  // namespace corral::fleet

CORRAL_DECLARE_ERRC(corral::fleet);
