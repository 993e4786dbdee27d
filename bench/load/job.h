// What the load generator is told to do and what it tells back, both as JSON.
//
//   {"port":8000, "socket":"", "seconds":600, "at_once":0, "requests":[
//     {"name":"a", "path":"/v1/completions", "body":{...}, "at":0.5, "after_events":8, "read":true,
//     "background":false}]}
//
// Requests start in the order in which they stand there, each when all its conditions hold. The run is over when all
// have ended that are no background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "event_reader.h"

namespace corral::bench {

struct Request {
  std::string name;
  std::string path;
  std::string body;
  double at = 0;                 // seconds after the beginning of the run
  std::size_t after_events = 0;  // that every request before it must have received
  bool read = true;              // false: the answer is never taken from the socket
  bool background = false;       // cut off when the others have ended
};

struct Job {
  std::uint16_t port = 0;   // on 127.0.0.1
  std::string socket = {};  // path of a Unix socket, instead of the port
  double seconds = 600;     // the run is given up after that long
  std::size_t at_once = 0;  // most requests under way; 0: no limit
  std::vector<Request> requests;
};

// How one request went; times in seconds since the beginning of the run, negative: it didn't come to that.
struct Outcome {
  std::string name = {};
  double began = -1;  // its first byte was about to be sent
  double ended = -1;
  std::string error = {};           // empty: it went well
  std::vector<double> pieces = {};  // arrivals of events that carried text
  std::string text = {};
  std::string finish_reason = {};
  std::int64_t tokens = 0;         // of the answer, as the server counts them
  std::int64_t prompt_tokens = 0;  // the same
  std::int64_t cached_tokens = 0;  // of the prompt: not computed again
};

struct RunCost {
  double seconds = 0;
  double cpu_seconds = 0;  // user and system time of the generator while it ran
  std::size_t events = 0;
};

Result<Job> parse_job(std::string_view text);
// Reads the events of an answer: completions and chat, as both servers write them.
void read_answer(const EventReader& answer, Outcome& outcome);
std::string to_json(const std::vector<Outcome>& outcomes, const RunCost& cost);

}  // namespace corral::bench
