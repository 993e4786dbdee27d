// `corral measure-speed THREADS`: the child that finds out how fast this machine computes layers that others host, on
// the device that a worker would use. Says on standard output a line for each type of weights: TYPE BYTES_PER_SECOND.
#pragma once

namespace corral::app {

int measure_process(int argc, char** argv);

}  // namespace corral::app
