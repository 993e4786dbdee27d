// The process between the router and a foreign program. What the program has started never outlives it, and the program
// never outlives the router, even after SIGKILL of the router.
//
//   router ── guardian ── program ── whatever it starts
//
// Processes whose parent ends become children of the guardian (a subreaper), also those in sessions of their own. When
// the program ends, when the router ends, or on end_signal(), the guardian kills all of them, the program included, and
// ends as the program did. It passes all other signals on to the program's group, except SIGKILL and SIGSTOP, which no
// process can catch: SIGKILL ends the guardian and the program only, SIGSTOP stops the guardian only. It can't kill
// processes of other users, nor those that another program starts for this one, such as containers.
//
// Its command line doesn't have the words of the program, so that `pkill -f PROGRAM` doesn't find it.
#pragma once

#include <sys/types.h>

namespace corral::proc {

// The signal on which a guardian kills everything. Real-time, so that it means nothing to programs.
int end_signal();

// Runs the program `argv` as a child in a group of its own, and overwrites these words. Writes the child's pid to the
// status descriptor, which closes when the program starts. If the program can't be executed, the errno follows, and the
// child exits with the code that shells use (127 not found, 126 not executable). If no child can be created, it writes
// pid 0 and the errno, and returns the exit code for main(); else it never returns: it ends the process. Call it while
// one thread runs.
int run_guardian(pid_t parent, int status_fd, char** argv);

}  // namespace corral::proc
