// Who may ask: API keys, and the Host and Origin headers that keep web pages of others out.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/handler.h"

namespace corral::api {

struct AccessOptions {
  std::string api_key;        // empty: none is asked for
  bool loopback_only = true;  // listening on loopback: only loopback names are valid hosts
  std::vector<std::string> open_paths = {"/live", "/api/v1/live", "/api/v0/live", "/v1/live",
                                         "/v0/live"};  // need no key
};

// A filter: passes what may pass to the handler inside. Keys are compared in constant time.
//   no or wrong key -> 401; a browser page of another origin -> 403; a foreign Host on loopback (DNS rebinding) -> 403
class AccessFilter final : public http::Handler {
 public:
  AccessFilter(http::Handler& inside, AccessOptions options) : inside_(inside) { set(std::move(options)); }
  // For requests that come from now on. On any thread.
  void set(AccessOptions options);
  async::Task<http::Response> handle(http::Request request) override;

 private:
  std::shared_ptr<const AccessOptions> current() const;

  http::Handler& inside_;
  mutable std::mutex mutex_;  // held to copy or replace the pointer
  std::shared_ptr<const AccessOptions> options_;
};

}  // namespace corral::api
