// The process between the router and a foreign program: it sees to it that nothing outlives the program that the
// program has started, and that the program doesn't outlive the router, even after SIGKILL of the router.
//
//   router ── guardian ── program ── whatever it starts
//
// Processes whose parent ends become children of the guardian (a subreaper), also those in sessions of their own. When
// the program ends, when the router ends, or on end_signal(), the guardian kills all of them, the program included, and
// ends as the program did. It passes all other signals on to the program's group. It can't kill processes of other
// users, nor those that another program starts for this one, such as containers.
#pragma once

#include <sys/types.h>

namespace corral::proc {

// The signal on which a guardian kills everything. Real-time, so that it means nothing to programs.
int end_signal();

// Runs the program `argv` as a child in a group of its own. Writes the child's pid to the status descriptor, which the
// program's start closes; if it can't be executed, its errno follows, and the child's exit code is as in shells (127
// not found, 126 not executable). Returns the exit code for main() if there is no child (pid 0); else it ends the
// process. Call it while one thread runs.
int run_guardian(pid_t parent, int status_fd, char** argv);

}  // namespace corral::proc
