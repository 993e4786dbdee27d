#include "residency/lease_table.h"

namespace corral::residency {
namespace {

constexpr int kIndexBits = 32;

}  // namespace

LeaseId LeaseTable::take(Instance& instance, RequestOrigin origin) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  slots_[index].instance = &instance;
  slots_[index].origin = origin;
  ++used_;
  return LeaseId(std::uint64_t{slots_[index].generation} << kIndexBits | index);
}

LeaseTable::Ended LeaseTable::give_back(LeaseId lease) {
  const auto index = static_cast<std::uint32_t>(lease.value());
  if (index >= slots_.size() || slots_[index].generation != lease.value() >> kIndexBits) return {};
  const Ended ended{slots_[index].instance, slots_[index].origin};
  if (ended.instance != nullptr) end(index);
  return ended;
}

void LeaseTable::drop_all(const Instance& instance) {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].instance == &instance) end(i);
  }
}

void LeaseTable::end(std::uint32_t index) {
  slots_[index].instance = nullptr;
  ++slots_[index].generation;
  free_.push_back(index);
  --used_;
}

}  // namespace corral::residency
