#include "api/inference/body_check.h"

namespace corral::api {

async::Task<Result<dialects::Canonical>> read_body(async::ThreadPool* threads, const dialects::Endpoint& endpoint,
                                                   std::string body) {
  if (threads == nullptr || body.size() <= kSmallBody) co_return endpoint.read(std::move(body));
  auto work = [read = endpoint.read, body = std::move(body)]() mutable { return read(std::move(body)); };
  co_return co_await threads->run(std::move(work));
}

}  // namespace corral::api
