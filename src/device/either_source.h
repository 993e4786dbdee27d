// Two ways to ask for the same pools: the second is taken when the first fails.
#pragma once

#include <memory>

#include "device/pool_source.h"

namespace corral::device {

class EitherSource final : public PoolSource {
 public:
  EitherSource(std::unique_ptr<PoolSource> first, std::unique_ptr<PoolSource> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  std::string_view name() const override { return first_->name(); }
  // The first one's pools, else the second one's; the first one's error when the second has nothing.
  async::Task<Result<MemoryPools>> sample() override;

 private:
  const std::unique_ptr<PoolSource> first_, second_;
};

}  // namespace corral::device
