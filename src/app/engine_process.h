// `corral engine --socket PATH [--listen-tcp PORT]`: the process that serves one model. It loads its compute backends
// at once and waits for the load line on its control channel. Then it loads the model, and answers HTTP on the socket
// until it is killed or its parent ends. With --listen-tcp it also listens on a loopback port, which only benchmarks
// use.
//
// `corral engine --estimate`: answers the load line with the predicted memory of the load, and ends.
#pragma once

namespace corral::app {

int engine_process(int argc, char** argv);

}  // namespace corral::app
