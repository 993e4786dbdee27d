#include "engine/kv/cell_count.h"

#include <algorithm>
#include <iterator>

namespace corral::engine {

void CellCount::enter(const Part& part) {
  used_ -= part.run->taken();
  ++part.run->users[part.cells];
  used_ += part.run->taken();
}

void CellCount::leave(const Part& part) {
  used_ -= part.run->taken();
  const auto place = part.run->users.find(part.cells);
  if (--place->second == 0) part.run->users.erase(place);
  used_ += part.run->taken();
}

void CellCount::set(std::int32_t sequence, std::uint32_t length) {
  std::vector<Part>& parts = sequences_[sequence];
  std::uint32_t before = 0;
  for (const Part& part : parts) before += part.cells;
  while (before > length) {
    Part& last = parts.back();
    const std::uint32_t cut = std::min(before - length, last.cells);
    leave(last);
    last.cells -= cut;
    before -= cut;
    if (last.cells == 0) {
      parts.pop_back();
    } else {
      enter(last);
    }
  }
  if (before == length) return;
  // Extend the last run only if no other sequence shares it.
  const bool alone = !parts.empty() && parts.back().run.use_count() == 1;
  if (!alone) {
    parts.push_back({std::make_shared<Run>(), length - before});
    return enter(parts.back());
  }
  // Runs for each stream at each pass: the node is reused, so nothing is allocated.
  Part& last = parts.back();
  auto user = last.run->users.extract(last.run->users.begin());
  user.key() = last.cells += length - before;
  last.run->users.insert(std::move(user));
  used_ += length - before;
}

void CellCount::share(std::int32_t from, std::int32_t to, std::uint32_t length) {
  const std::vector<Part> source = sequences_[from];
  std::vector<Part>& parts = sequences_[to];
  for (const Part& part : source) {
    if (length == 0) break;
    parts.push_back({part.run, std::min(part.cells, length)});
    enter(parts.back());
    length -= parts.back().cells;
  }
}

std::uint32_t CellCount::used_by(std::span<const std::int32_t> sequences) const {
  std::uint32_t used = 0;
  const auto for_each_part = [&](auto call) {
    for (const std::int32_t sequence : sequences) {
      const auto found = sequences_.find(sequence);
      if (found != sequences_.end()) std::ranges::for_each(found->second, call);
    }
  };
  for_each_part([&](const Part& part) {
    std::uint32_t& counted = part.run->counted;
    used += std::max(counted, part.cells) - counted;
    counted = std::max(counted, part.cells);
  });
  for_each_part([](const Part& part) { part.run->counted = 0; });
  return used;
}

std::uint32_t CellCount::own(std::int32_t sequence) const {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return 0;
  std::uint32_t own = 0;
  for (const Part& part : found->second) {
    const auto& users = part.run->users;
    const auto largest = users.rbegin();
    if (largest->first != part.cells || largest->second > 1) continue;
    const auto next = std::next(largest);
    own += part.cells - (next == users.rend() ? 0 : next->first);
  }
  return own;
}

}  // namespace corral::engine
