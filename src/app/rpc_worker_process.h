// `corral rpc-worker`: computes layers of a model for the engine of another machine. A child of the router, one for
// each engine that has a share here; it counts as taken over by whoever speaks to it, and is
// locked in (proc/sandbox.h).
#pragma once

namespace corral::app {

// corral rpc-worker --socket PATH --threads N [--memory BYTES] [--cache FOLDER] [--devices NAME,NAME]
// Says {"ready":{…}} or {"failed":{…}} on its control channel, answers there, and ends with its parent.
int rpc_worker_process(int argc, char** argv);

}  // namespace corral::app
