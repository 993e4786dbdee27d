// `corral rpc-worker`: computes layers of a model for the engine of another machine. A child of the router, one for
// each engine with a share here. Its host may control it completely, so it runs in a sandbox (proc/sandbox.h).
#pragma once

namespace corral::app {

// corral rpc-worker --socket PATH --threads N [--memory BYTES] [--cache FOLDER] [--devices NAME,NAME]
// Writes {"ready":{…}} or {"failed":{…}} to its control channel, answers liveness checks, and ends with its parent.
int rpc_worker_process(int argc, char** argv);

}  // namespace corral::app
