// Ranges of a file: present and missing ones. Plain values, pure. Numbers are bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace corral::downloads {

// From `begin` to before `end`.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  bool empty() const { return begin >= end; }
  friend bool operator==(const Range&, const Range&) = default;
};

// A set of bytes, kept as ranges that neither touch nor overlap, in order.
class RangeSet {
 public:
  void add(Range range);
  void remove(Range range);
  void clear() { ranges_.clear(); }

  std::span<const Range> ranges() const { return ranges_; }
  std::uint64_t bytes() const;
  bool covers(Range range) const;
  // Number of bytes from 0 on without a gap.
  std::uint64_t front() const;
  // The first range of at most `limit` bytes, below `size`, that isn't in it.
  std::optional<Range> gap(std::uint64_t size, std::uint64_t limit) const;

 private:
  std::vector<Range> ranges_;
};

}  // namespace corral::downloads
