// One HTTP answer as its bytes arrive: the head, a body of chunks or of a known length, and in a streamed body its
// events, each with the time at which its last byte came. Events are only cut out here; they are looked into when the
// run is over, so that reading costs next to nothing while somebody else's compute threads want the processor.
//
// Understands what the servers under test send: HTTP/1.1, one "data: " line per event, an empty line behind it. One
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace corral::bench {

struct Event {
  double at = 0;  // seconds, on the caller's clock
  std::string data;
};

class EventReader {
 public:
  // Takes the next bytes, however they were cut. False when they are no HTTP; the reader is of no use from then on.
  bool feed(std::string_view bytes, double now);
  // The server has closed the connection: the end of an answer that names no length.
  void feed_end();

  bool ended() const { return state_ == State::ended; }
  int status() const { return status_; }  // 0 before the head is complete
  bool is_stream() const { return is_stream_; }
  const std::vector<Event>& events() const { return events_; }
  // What stands behind the last event; the whole body if the answer is no stream.
  const std::string& rest() const { return body_; }

 private:
  enum class State { head, length, until_closed, chunk_size, chunk, chunk_end, trailer, ended };

  bool read_line(std::string_view& bytes);
  bool take_line();
  bool take_head_line();
  void take_body(std::string_view piece, double now);

  State state_ = State::head;
  std::string line_;  // of head, chunk size or trailer; as far as it has come
  int status_ = 0;
  bool chunked_ = false;
  bool is_stream_ = false;
  bool has_length_ = false;
  std::uint64_t left_ = 0;  // bytes of the chunk or of the body
  std::string body_;
  std::vector<Event> events_;
};

}  // namespace corral::bench
