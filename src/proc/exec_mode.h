// The first instructions of a child: what ties it to its parent, so that no child outlives the router, even one that
// was killed with SIGKILL.
//
// Linux can send a signal to a child when its parent ends, but the child has to ask for it. Foreign programs don't, so
// we start ourselves in a hidden mode that asks and then becomes the program (the request survives exec, unless the
// program is set-uid or has file capabilities):
//
//   corral exec-child <parent pid> <status fd> -- program args…
//
// "Parent" means the *thread* that started the child: see PosixSpawner. To be called from main() while one thread runs.
#pragma once

#include <filesystem>
#include <optional>

#include <sys/types.h>

namespace corral::proc {

inline constexpr const char* kExecMode = "exec-child";
inline constexpr const char* kParentVariable = "CORRAL_PARENT_PID";  // set for specs with binds_itself

bool is_exec_mode(int argc, char** argv);
// Returns only when the program can't be executed: the exit code for main(), as shells use them (127 not found, 126 not
// executable). The errno goes to the status descriptor.
int run_exec_mode(int argc, char** argv);

// From now on this process is killed when its parent ends. False: the parent has ended already, so leave at once.
[[nodiscard]] bool bind_to_parent(pid_t expected_parent);
// For sub-commands that are started with binds_itself: binds to CORRAL_PARENT_PID. True also when the variable isn't
// set (started by hand). Takes it out of the environment.
[[nodiscard]] bool bind_to_parent_from_environment();

// The path of the running program.
std::filesystem::path own_program();

}  // namespace corral::proc
