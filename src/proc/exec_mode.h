// The first instructions of a child, which tie it to its parent, so that no child outlives the router, even after
// SIGKILL of the router.
//
// Linux can send a signal to a child when its parent ends, but the child must request it. Foreign programs don't, and
// they start processes of their own. So we start ourselves in a hidden mode that guards the program (guardian.h):
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
// Runs and guards the program until its end. The exit code for main(), as of run_guardian().
int run_exec_mode(int argc, char** argv);

// From now on the kernel kills this process when its parent ends. False: the parent has already ended, so exit at once.
[[nodiscard]] bool bind_to_parent(pid_t expected_parent);
// For sub-commands that are started with binds_itself: binds to CORRAL_PARENT_PID. True also if the variable isn't set
// (started by a user). Removes it from the environment.
[[nodiscard]] bool bind_to_parent_from_environment();

// The path of the running program.
std::filesystem::path own_program();

}  // namespace corral::proc
