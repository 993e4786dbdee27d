// Fetches with libcurl on one loop: no thread for any file. libcurl says which sockets and which time it waits for, the
// loop does the waiting. Proxies (HTTPS_PROXY, NO_PROXY, …) are libcurl's business; certificates are always checked.
#pragma once

#include <memory>
#include <string>

#include "async/loop.h"
#include "async/timer.h"
#include "downloads/fetcher.h"

namespace corral::downloads {

struct CurlOptions {
  Millis stall{15'000};    // silence after which a connection is given up
  Millis connect{15'000};  // until a connection stands
  std::string user_agent = "corral";
  std::string ca_file = {};               // certificates that are trusted; empty: the system's
  std::optional<std::string> proxy = {};  // instead of what the environment says; "" is none
};

// On its loop. What runs must have ended before it goes.
class CurlLoop final : public Fetcher {
 public:
  // Throws std::runtime_error where libcurl can't begin.
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
