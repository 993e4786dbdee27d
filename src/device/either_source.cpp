#include "device/either_source.h"

namespace corral::device {

async::Task<Result<MemoryPools>> EitherSource::sample() {
  auto pools = co_await first_->sample();
  if (pools) co_return pools;
  auto others = co_await second_->sample();
  // The error of an installed driver says more than that of a missing program.
  const bool nothing = !others && others.error().code == errc::absent;
  co_return nothing ? std::move(pools) : std::move(others);
}

}  // namespace corral::device
