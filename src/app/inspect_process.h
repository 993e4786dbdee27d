// `corral inspect-model [FILE…]`: the child process that checks the files of a copied model before they get their
// names. It opens the files, enters a sandbox (proc/sandbox.h), reads their headers like this program and like
// libllama, and prints the result on standard output (fleet/copies/file_inspector.h). Without files it only reports its
// sandbox.
#pragma once

namespace corral::app {

int inspect_process(int argc, char** argv);

}  // namespace corral::app
