#include "residency/memory_ledger.h"

#include <algorithm>

#include "residency/state.h"

namespace corral::residency {
namespace {

std::int64_t bytes_of(const PoolUse& use, MemoryPart part) {
  return static_cast<std::int64_t>(part == MemoryPart::all ? use.total : use.dynamic);
}

}  // namespace

void MemoryLedger::sample(const std::vector<PoolSample>& pools, const MemoryUse& loading, MonoTime now) {
  std::vector<Pool> next;
  for (const PoolSample& seen : pools) {
    Pool pool{.id = seen.pool,
              .total = static_cast<std::int64_t>(seen.total),
              .available = static_cast<std::int64_t>(seen.available),
              .expected = 0,
              .back_by = {}};
    const auto before = std::ranges::find(pools_, seen.pool, &Pool::id);
    const bool known = before != pools_.end();
    const bool taken_in_part =
        std::ranges::any_of(loading, [&](const PoolUse& use) { return use.pool == seen.pool && use.total > 0; });
    if (known && taken_in_part) pool.available = std::min(pool.available, before->available);
    pool.expected = pool.available;
    if (known && now < before->back_by && before->expected > pool.expected) {
      pool.expected = std::min(before->expected, pool.total);
      pool.back_by = before->back_by;
    }
    next.push_back(std::move(pool));
  }
  pools_ = std::move(next);
  sampled_ = now;
  asked.reset();
}

void MemoryLedger::take(const PoolBytes& bytes) {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    pools_[i].available -= bytes[i];
    pools_[i].expected -= bytes[i];
  }
  changed();
}

void MemoryLedger::give_up(const PoolBytes& bytes, MonoTime back_by) {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    if (bytes[i] == 0) continue;
    pools_[i].expected += bytes[i];
    pools_[i].back_by = back_by;
  }
  changed();
}

PoolBytes MemoryLedger::bytes(const MemoryUse& use, MemoryPart part) const {
  PoolBytes result(pools_.size());
  for (const PoolUse& one : use) {
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      if (pools_[i].id == one.pool) result[i] += bytes_of(one, part);
    }
  }
  return result;
}

PoolBytes MemoryLedger::held(const Instance& instance) const {
  PoolBytes result = bytes(instance.spec->memory, MemoryPart::all);
  if (instance.shrunk) subtract(result, bytes(instance.spec->memory, MemoryPart::dynamic));
  return result;
}

PoolBytes MemoryLedger::surely_held(const Instance& instance) const {
  PoolBytes result = held(instance);
  if (instance.downsize_asked && !instance.shrunk) subtract(result, bytes(instance.spec->memory, MemoryPart::dynamic));
  return result;
}

void add(PoolBytes& to, const PoolBytes& more) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

void subtract(PoolBytes& from, const PoolBytes& less) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= less[i];
}

bool none_left(const PoolBytes& bytes) {
  return std::ranges::none_of(bytes, [](std::int64_t left) { return left > 0; });
}

}  // namespace corral::residency
