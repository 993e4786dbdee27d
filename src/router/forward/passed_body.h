// Bodies that pass unchanged, both ways, as fast as the receiver reads.
#pragma once

#include <memory>
#include <optional>

#include "http/body.h"
#include "router/base/lease.h"
#include "router/base/request_table.h"

namespace corral::router {

bool is_json(const http::ResponseHead& head);
bool is_events(const http::ResponseHead& head);

// The same response; the lease ends after its last byte, or with its destruction. A cancellation breaks it off.
http::Response passed_on(http::Response answer, Lease lease, std::shared_ptr<ActiveRequest> active);

// Passes a body on and stores its failure, which isn't the backend's fault.
class WatchedUpload final : public http::BodySource {
 public:
  explicit WatchedUpload(http::BodySource& body) : body_(body) {}
  async::Task<Result<std::string_view>> read() override {
    pulled_ = true;
    auto piece = co_await body_.read();
    if (!piece) failure_ = piece.error();
    co_return piece;
  }
  std::optional<std::uint64_t> length() const override { return body_.length(); }
  const std::optional<Error>& failure() const { return failure_; }
  bool pulled() const { return pulled_; }  // a part of it, which can't be sent again

 private:
  http::BodySource& body_;
  std::optional<Error> failure_;
  bool pulled_ = false;
};

}  // namespace corral::router
