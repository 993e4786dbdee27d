// Starts one process: descriptors, process group, signals, environment. Blocks until the new process has executed.
#pragma once

#include <filesystem>

#include "proc/child.h"
#include "proc/process_handle.h"

namespace corral::proc {

// A started process and our ends of its pipes and channel. All are close-on-exec; the pipes' ends don't block.
struct Launched {
  ProcessHandle process;
  UniqueFd out, err;
  UniqueFd in;           // for a spec with pipes
  UniqueFd control;      // if the spec asked for it
  UniqueFd exec_status;  // for guarded programs: returns their pid, and an errno if exec failed; ends after success
};

// On the spawner's thread: the child dies with the calling thread.
Result<Launched> launch(const ChildSpec& spec, const std::filesystem::path& own_program);
// The error for a program that could not be executed.
Error exec_error(const ChildSpec& spec, int cause);

}  // namespace corral::proc
