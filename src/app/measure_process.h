// `corral measure-speed THREADS`: the child process that measures how fast this machine computes layers of other nodes'
// models, on the device that a worker would use. Prints a line for each type of weights: TYPE BYTES_PER_SECOND.
#pragma once

namespace corral::app {

int measure_process(int argc, char** argv);

}  // namespace corral::app
