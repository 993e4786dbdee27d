#include "device/process_work.h"

#include <sstream>
#include <string>

#include "base/read_proc.h"

namespace corral::device {

std::uint64_t process_work(pid_t pid, const std::filesystem::path& root) {
  const auto text = read_proc(root / "proc" / std::to_string(pid) / "stat");
  // The name of the program stands in parentheses and may hold anything, parentheses too.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 7; ++i) fields >> skipped;  // from the state to the flags
  std::uint64_t minor_faults = 0, major_faults = 0, of_children = 0, user = 0, system = 0;
  fields >> minor_faults >> of_children >> major_faults >> of_children >> user >> system;
  return minor_faults + major_faults + user + system;
}

}  // namespace corral::device
