// `corral inspect-model [FILE…]`: the child that looks at a model's files that another node gave, before they get their
// names. Opens them, locks itself in (proc/sandbox.h), reads their headers as this program and as libllama will, and
// says on standard output what it found (fleet/copies/file_inspector.h). Without files it says how well it is locked
// in.
#pragma once

namespace corral::app {

int inspect_process(int argc, char** argv);

}  // namespace corral::app
