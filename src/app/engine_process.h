// `corral engine --socket PATH [--listen-tcp PORT]`: the child that serves one model. Finds its compute backends at
// once, waits for the load line on its control channel, loads, then answers HTTP on the socket until it is killed or
// its parent goes. With --listen-tcp also on a loopback port: benchmarks reach it there, the router never does.
//
// `corral engine --estimate`: the same child up to the load line, which it answers with the memory that the load would
// take. Then it ends.
#pragma once

namespace corral::app {

int engine_process(int argc, char** argv);

}  // namespace corral::app
