// `corral list-devices`: loads the compute backends and prints what they find, for `corral doctor`. A process of its
// own, because the library of a GPU may hang or crash. Its lines are those of compute_probe.h.
#pragma once

namespace corral::app {

int devices_process(int argc, char** argv);

}  // namespace corral::app
