// Reports to the router which requests the engine works on: when it has read one, before any work for it, and when one
// has ended. So the router knows the running requests of a process that ended, and the requests that it had never read.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/engine_protocol.h"
#include "http/handler.h"

namespace corral::app {

class RequestReports final : public http::Handler {
 public:
  struct Lines {
    // Returns when the line has been handed to the system.
    std::function<async::Task<void>(backends::EngineRequest)> write;
    // Queues the line and returns at once.
    std::function<void(backends::EngineRequest)> post;
  };

  // `inner` must outlive it, and it must outlive the responses.
  RequestReports(http::Handler& inner, Lines lines) : inner_(inner), lines_(std::move(lines)) {}

  async::Task<http::Response> handle(http::Request request) override;
  http::Response refused(std::string_view path, http::Response answer) override {
    return inner_.refused(path, std::move(answer));
  }

 private:
  class Report;
  class ReportedBody;

  http::Handler& inner_;
  const Lines lines_;
};

}  // namespace corral::app
