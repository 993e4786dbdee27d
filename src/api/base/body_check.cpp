#include "api/base/body_check.h"

#include "json/lone_surrogates.h"

namespace corral::api {

async::Task<Result<dialects::Canonical>> read_body(async::ThreadPool* threads, const dialects::Endpoint& endpoint,
                                                   std::string body) {
  const bool small = threads == nullptr || body.size() <= kSmallBody;
  auto work = [read = endpoint.read, body = std::move(body)]() mutable {
    json::replace_lone_surrogates(body);
    return read(std::move(body));
  };
  if (small) co_return work();
  co_return co_await threads->run(std::move(work));
}

}  // namespace corral::api
