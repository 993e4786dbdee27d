// Access control: API keys, and the headers of browsers, which keep foreign web pages out.
//
//   Host             a foreign name -> 403 (DNS rebinding: a page whose name resolves to this machine)
//   Origin           only this server's own pages and listed origins are allowed; others -> 403, and their preflights
//                    get an answer that allows nothing
//   Sec-Fetch-Site   without an Origin: other sites may only link here; others -> 403
//   Content-Type     a browser's body with effects must be application/json -> 415. Bodies that a page can send without
//                    a preflight (a form, text/plain) have no effect
//   preflights       of listed origins are answered here, without a key
//   key              determines the caller's rights (api/access/rights.h); the route decides whether they suffice
//
// Answers to listed origins, errors included, have the CORS headers that browsers need.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/access/access_log.h"
#include "api/access/key_table.h"
#include "base/mutex.h"
#include "http/handler.h"

namespace corral::api {

struct AccessOptions {
  std::shared_ptr<const KeyTable> keys = std::make_shared<KeyTable>();
  bool loopback_only = true;                      // listening on loopback: only loopback names are valid hosts
  std::vector<std::string> allowed_origins = {};  // config/options/origins.h
  std::vector<std::string> allowed_hosts = {};    // in addition to loopback names
  std::vector<std::string> own_names = {};        // of this machine: valid hosts beyond loopback if no host is listed
};

// The API key that a request sends; empty: none.
std::string_view sent_key(const http::Headers& headers);

class AccessFilter final : public http::Handler {
 public:
  // `clock` gives the times of use of keys.
  AccessFilter(http::Handler& inside, const Clock& clock, AccessOptions options)
      : inside_(inside), clock_(clock), log_(clock) {
    set(std::move(options));
  }
  // For future requests. On any thread.
  void set(AccessOptions options);
  async::Task<http::Response> handle(http::Request request) override;

 private:
  std::shared_ptr<const AccessOptions> current() const;

  http::Handler& inside_;
  const Clock& clock_;
  AccessLog log_;
  mutable Mutex mutex_;  // held to copy or replace the pointer
  std::shared_ptr<const AccessOptions> options_ GUARDED_BY(mutex_);
};

}  // namespace corral::api
