// Two sources of the same pools: uses the second if the first fails.
#pragma once

#include <memory>

#include "device/pool_source.h"

namespace corral::device {

class EitherSource final : public PoolSource {
 public:
  EitherSource(std::unique_ptr<PoolSource> first, std::unique_ptr<PoolSource> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  std::string_view name() const override { return first_->name(); }
  // The first source's pools, otherwise the second's; the first's error if the second has no device either.
  async::Task<Result<MemoryPools>> sample() override;

 private:
  const std::unique_ptr<PoolSource> first_, second_;
};

}  // namespace corral::device
