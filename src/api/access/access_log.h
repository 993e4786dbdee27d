// The access log: one line for each request at level debug. Rejections of callers (401, 403, 429) are written at level
// info, at most ten a second, with their reason. A line never has a body, a query or an API key. Times end with the
// head of the answer: a stream continues after it.
//
//   GET /v1/models 200, 3 ms, from 127.0.0.1, key ops, request 5d1c…
//
// Safe on every thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "http/handler.h"

namespace corral::api {

struct AccessRecord {
  std::string method, path;  // without the query
  std::string peer;          // address of the client
  std::string key;           // identifier of the API key; empty: none
  std::string id;            // of the request
  MonoTime begin;
  unsigned status = 0;  // 0: the client disconnected before the answer
  std::string reason;   // of an error of this server
};

std::string access_line(const AccessRecord& record, MonoTime now);

class AccessLog {
 public:
  explicit AccessLog(const Clock& clock) : clock_(clock) {}
  void write(const AccessRecord& record);

 private:
  bool may_write_rejection(std::uint64_t& dropped);

  const Clock& clock_;
  Mutex mutex_;  // held to count
  MonoTime second_ GUARDED_BY(mutex_){};
  int rejections_ GUARDED_BY(mutex_) = 0;         // in this second
  std::uint64_t dropped_ GUARDED_BY(mutex_) = 0;  // since the last line
};

// The line of one request, written when it goes out of scope. Without an answer by then, its client has disconnected.
class AccessEntry {
 public:
  AccessEntry(AccessLog& log, const http::Request& request, MonoTime now);
  ~AccessEntry();
  AccessEntry(const AccessEntry&) = delete;
  AccessEntry& operator=(const AccessEntry&) = delete;

  void set_key(const std::string& key) { record_.key = key; }
  void set_response(const http::Response& response);

 private:
  AccessLog& log_;
  const bool wanted_;
  AccessRecord record_;
};

}  // namespace corral::api
