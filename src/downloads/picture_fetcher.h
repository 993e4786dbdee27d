// Downloads pictures that requests name by URL, from the public Internet only: no request may reach the machine, its
// network or the metadata of a cloud. Each address is checked when it is connected to, also after redirects; no proxy
// is used, because it would resolve names itself.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include "async/loop.h"
#include "async/timer.h"
#include "base/error.h"
#include "downloads/transfer/curl_loop.h"

namespace corral::downloads {

// Limits for one picture: 10 s, 3 redirects, public addresses.
CurlOptions picture_options(std::string user_agent);

class PictureFetcher {
 public:
  // Throws std::runtime_error if libcurl can't start. `timers` are for all loops, and outlive it.
  PictureFetcher(async::Timers& timers, CurlOptions options);
  // All fetches must have ended.
  ~PictureFetcher();
  PictureFetcher(const PictureFetcher&) = delete;
  PictureFetcher& operator=(const PictureFetcher&) = delete;

  // The bytes at the URL. On any loop. Error: unreachable, whose message follows "cannot be fetched: ".
  async::Task<Result<std::string>> fetch(std::string url, std::uint64_t max_bytes);

 private:
  async::Task<Result<std::string>> fetch_here(std::string url, std::uint64_t max_bytes);

  const Millis deadline_;
  const long max_redirects_;
  async::Loop loop_;
  CurlLoop curl_;
  std::jthread thread_;
};

}  // namespace corral::downloads
