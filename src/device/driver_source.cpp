#include "device/driver_source.h"

#include <fmt/format.h>

namespace corral::device {

async::Task<Result<MemoryPools>> DriverSource::sample() {
  if (thread_.busy()) co_return fail(errc::hangs, "an earlier call has not returned yet");
  auto reading = thread_.run(deadline_, [probe = probe_] { return probe->read(); });
  auto pools = co_await std::move(reading);
  if (!pools) co_return fail(errc::hangs, fmt::format("no answer within {} ms", deadline_.count()));
  co_return std::move(*pools);
}

}  // namespace corral::device
