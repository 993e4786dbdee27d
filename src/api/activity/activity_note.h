// Record of one inference request, from its arrival to the last byte of its answer: a row of the activity log, and the
// captured bodies if `capture_bodies` is on. The store takes both without blocking the loop. While the request is
// running, ActivityBoard lists its note.
//
// On the loop of the request's connection; the members that the board reads are atomic or constant.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/activity/activity_board.h"
#include "api/activity/capture.h"
#include "api/base/context.h"
#include "http/handler.h"
#include "protocol/answers/answer_count.h"

namespace corral::api {

class ActivityNote;
using NotePtr = std::shared_ptr<ActivityNote>;

// Shared by all parts that work on the request; written when the last of them releases it.
class ActivityNote : public std::enable_shared_from_this<ActivityNote> {
 public:
  ActivityNote(CoreContext& context, std::shared_ptr<ActivityBoard> board, std::string_view dialect,
               const http::Request& request);
  ~ActivityNote();
  ActivityNote(const ActivityNote&) = delete;
  ActivityNote& operator=(const ActivityNote&) = delete;

  // The unchanged body.
  void record_request(std::string_view body);
  // The model's name, requested or found.
  void wants(std::string_view model) { model_ = model.substr(0, kLongestName); }
  // The node that runs it.
  void placed(const router::NodeRef& node) { node_ = node.value().substr(0, kLongestName); }
  // Returns the same canonical answer; counts its tokens while it passes. Also for an answer that is made of several.
  http::Response counted(http::Response answer);
  // Returns the same answer; records it as the client gets it.
  http::Response answered(http::Response answer);

 private:
  friend class ActivityBoard;
  class CountedBody;
  static constexpr std::size_t kLongestName = 256;

  void record_events(std::string_view events);
  void write() const;
  std::string outcome() const;

  CoreContext& context_;
  const std::shared_ptr<ActivityBoard> board_;
  const MonoTime began_;
  const std::string request_, owner_, path_, dialect_, client_;
  std::atomic<std::int64_t> pieces_ = 0, first_token_ms_ = -1;
  std::string model_, node_;
  unsigned status_ = 0;  // 0: the client disconnected before the answer
  std::string failure_;  // code of the error, also of a stream that failed; empty: none
  int unended_ = 0;      // streams that haven't ended: the answer, and those that it is made of
  protocol::AnswerCount count_;
  std::shared_ptr<Capture> capture_;  // null: no capture
  ActivityBoard::Place place_;        // last member: once it is set, other threads read this note
};

// The client's name in `User-Agent`: the first bytes, in printable ASCII.
std::string client_name(const http::Headers& headers);

}  // namespace corral::api
