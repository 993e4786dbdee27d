// How many KV cells of one pool are taken, which libllama doesn't tell: a cell that several sequences share counts
// once, and is free when the last of them lets go. One thread.
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
  // The sequence has so many tokens now: what is new was computed for it alone.
  void set(std::int32_t sequence, std::uint32_t length);
  // `to` (empty) has the first `length` tokens of `from` too.
  void share(std::int32_t from, std::int32_t to, std::uint32_t length);

  std::uint32_t used() const { return used_; }
  // Of these sequences together.
  std::uint32_t used_by(std::span<const std::int32_t> sequences) const;
  // That are free when this one lets go.
  std::uint32_t own(std::int32_t sequence) const;

 private:
  // Cells that were computed one after another by one sequence. Whoever shares them has them from the first one on, so
  // as many are taken as the one with the most has.
  struct Run {
    std::map<std::uint32_t, std::uint32_t> users;  // by how many cells they have of it
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
