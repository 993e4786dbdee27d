// Counts the used KV cells of a unified layout, which libllama does not report. A cell that several sequences share
// counts once, and is free when the last of them releases it. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace corral::engine {

class CellCount {
 public:
  // Sets the length of the sequence; new tokens were computed for it alone.
  void set(std::int32_t sequence, std::uint32_t length);
  // Shares the first `length` tokens of `from` with `to`, which was empty.
  void share(std::int32_t from, std::int32_t to, std::uint32_t length);

  std::uint32_t used() const { return used_; }
  // Of these sequences together.
  std::uint32_t used_by(std::span<const std::int32_t> sequences) const;
  // Cells that become free when this sequence is cleared.
  std::uint32_t own(std::int32_t sequence) const;

 private:
  // Consecutive cells that one sequence computed. A sequence that shares them has them from the first one on, so the
  // used cells are those of the sequence with the most.
  struct Run {
    std::map<std::uint32_t, std::uint32_t> users;  // by their number of cells of the run
    std::uint32_t counted = 0;                     // while used_by() counts
    std::uint32_t taken() const { return users.empty() ? 0 : users.rbegin()->first; }
  };
  struct Part {
    std::shared_ptr<Run> run;
    std::uint32_t cells;
  };

  void enter(const Part& part);
  void leave(const Part& part);

  std::unordered_map<std::int32_t, std::vector<Part>> sequences_;
  std::uint32_t used_ = 0;
};

}  // namespace corral::engine
