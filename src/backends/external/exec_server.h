// A backend of kind exec: each request gets a process of its own, which reads its text on standard input and whose
// output is streamed as the response. Dropping the response kills the process, and so does its limit
// (request_limit.h).
//
// Values of a request get into the command only through {request.FIELD}, as one word or a part of one, and never look
// like a flag.
#pragma once

#include <optional>

#include "async/event.h"
#include "backends/external/external_backend.h"
#include "backends/external/external_requests.h"

namespace corral::backends {

class ExecServer final : public WrappedServer {
 public:
  ExecServer(ExternalBackend& backend, ModelPtr model, DescriptorPtr descriptor, LoadOptions options);
  ~ExecServer() override;

  async::Task<Result<>> load(Hooks hooks) override;
  async::Task<void> stop(Millis grace) override;
  async::Task<bool> downsize() override { co_return false; }
  async::Task<std::string> wait_for_exit() override;
  http::Target& target(async::Executor executor) override;
  ServerFacts facts() const override;
  std::uint64_t work() const override { return 0; }

 private:
  class Target;

  ExternalBackend& backend_;
  const ModelPtr model_;
  const DescriptorPtr descriptor_;
  const LoadOptions options_;
  std::shared_ptr<RequestReports> reports_;
  std::unique_ptr<Target> target_;  // the same for all loops: processes live on the loop of their request
  async::Event let_go_;
};

// The values of {request.FIELD} from a body that is a JSON object: its texts and numbers, without those that look like
// a flag or are too long for a word. Errors: protocol::errc::wrong_type. Pure.
Result<std::map<std::string, std::string>> request_values(std::string_view body);

}  // namespace corral::backends
