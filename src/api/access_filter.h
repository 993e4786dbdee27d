// Who may ask: keys, and the headers by which browsers say for whom they ask, which keep other people's pages out.
//
//   Host             a name that isn't ours -> 403 (a page whose name leads to this machine: DNS rebinding)
//   Origin           this server's own pages and those that are listed may ask; others -> 403, their preflights an
//                    answer that allows nothing
//   Sec-Fetch-Site   without an Origin: other sites may only link here; others -> 403
//   Content-Type     of a browser's body that could change something must be application/json -> 415. What a page can
//                    send without asking first (a form, text/plain) does nothing
//   preflights       of listed origins are answered here, without a key
//   key              decides what the caller may do (api/rights.h); whether that is enough the route says
//
// Answers to listed origins carry what browsers want to see before they hand them to the page, errors included.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/key_table.h"
#include "http/handler.h"

namespace corral::api {

struct AccessOptions {
  std::shared_ptr<const KeyTable> keys = std::make_shared<KeyTable>();
  bool loopback_only = true;                      // listening on loopback: only loopback names are valid hosts
  std::vector<std::string> allowed_origins = {};  // config/origins.h
  std::vector<std::string> allowed_hosts = {};    // beside loopback names
  std::vector<std::string> own_names = {};  // of this machine: valid hosts beyond loopback where nothing is listed
};

class AccessFilter final : public http::Handler {
 public:
  // `clock` says when keys were used.
  AccessFilter(http::Handler& inside, const Clock& clock, AccessOptions options) : inside_(inside), clock_(clock) {
    set(std::move(options));
  }
  // For requests that come from now on. On any thread.
  void set(AccessOptions options);
  async::Task<http::Response> handle(http::Request request) override;

 private:
  std::shared_ptr<const AccessOptions> current() const;

  http::Handler& inside_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // held to copy or replace the pointer
  std::shared_ptr<const AccessOptions> options_;
};

}  // namespace corral::api
