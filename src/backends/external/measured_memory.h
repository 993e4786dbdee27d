// Measured memory of external servers, stored for their next load. On the home loop; writes one small file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace corral::backends {

struct Measured {
  std::uint64_t host = 0;  // proportional share of the process and all that it has started, bytes
  std::uint64_t gpu = 0;   // of all GPUs together; 0: none was seen
  friend bool operator==(const Measured&, const Measured&) = default;
};

class MeasuredMemory {
 public:
  // Reads the file; an unreadable one is renamed. Empty path: nothing is saved to disk.
  explicit MeasuredMemory(std::filesystem::path file);

  std::optional<Measured> of(const std::string& key) const;
  // Stores the maximum.
  void note(const std::string& key, Measured seen);

 private:
  void write() const;

  const std::filesystem::path file_;
  std::map<std::string, Measured> known_;
};

}  // namespace corral::backends
