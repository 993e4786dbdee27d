// Fetches with libcurl on one loop, without threads. libcurl reports the sockets and timeouts that it needs; the loop
// waits for them. libcurl handles proxies (HTTPS_PROXY, NO_PROXY, …); certificates are always checked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/address.hpp>

#include "async/loop.h"
#include "async/timer.h"
#include "downloads/transfer/fetcher.h"

namespace corral::downloads {

struct CurlOptions {
  Millis stall{15'000};    // a connection without data for this long is closed
  Millis connect{15'000};  // time limit for connecting
  std::string user_agent = "corral";
  std::string ca_file = {};               // trusted certificates; empty: the system's
  std::optional<std::string> proxy = {};  // overrides the environment; "" means no proxy
  long max_redirects = 8;
  Millis deadline{0};  // time limit of a whole fetch; 0: none
  // Called with each address before it is connected to, also after redirects; false: it isn't. Empty: all are.
  std::function<bool(const boost::asio::ip::address&)> may_connect = {};
};

// On its loop. All fetches must have ended before it is destroyed.
class CurlLoop final : public Fetcher {
 public:
  // Throws std::runtime_error if libcurl can't start.
  CurlLoop(async::Executor executor, async::Timers& timers, CurlOptions options = {});
  ~CurlLoop() override;
  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;

  async::Task<FetchAnswer> fetch(FetchRequest request) override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace corral::downloads
