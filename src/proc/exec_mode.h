// The first instructions of a child, which tie it to its parent, so that no child outlives the router, even after
// SIGKILL of the router.
//
// Linux can send a signal to a child when its parent ends, but the child must request it. Foreign programs don't. So we
// start ourselves in a hidden mode that requests it and then executes the program (the request survives exec, unless
// the program is set-uid or has file capabilities):
//
//   corral exec-child <parent pid> <status fd> -- program args…
//
// "Parent" means the *thread* that started the child: see PosixSpawner. Call it from main() while one thread runs.
#pragma once

#include <filesystem>
#include <optional>

#include <sys/types.h>

namespace corral::proc {

inline constexpr const char* kExecMode = "exec-child";
inline constexpr const char* kParentVariable = "CORRAL_PARENT_PID";  // set for specs with binds_itself

bool is_exec_mode(int argc, char** argv);
// Returns only if the program can't be executed: the exit code for main(), as in shells (127 not found, 126 not
// executable). Writes the errno to the status descriptor.
int run_exec_mode(int argc, char** argv);

// From now on the kernel kills this process when its parent ends. False: the parent has already ended, so exit at once.
[[nodiscard]] bool bind_to_parent(pid_t expected_parent);
// For sub-commands that are started with binds_itself: binds to CORRAL_PARENT_PID. True also if the variable isn't set
// (started by a user). Removes it from the environment.
[[nodiscard]] bool bind_to_parent_from_environment();

// The path of the running program.
std::filesystem::path own_program();

}  // namespace corral::proc
