// What one inference request comes to, from its arrival to the last byte of its answer: a row of the activity log, and
// what both said where that is wanted (`capture_bodies`). Both are handed to the store, which never lets a loop wait.
// While it is under way, ActivityBoard knows it.
//
// On the loop of the request's connection; what the board reads is atomic, or stays as it was made.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/activity_board.h"
#include "api/answer_count.h"
#include "api/capture.h"
#include "api/context.h"
#include "http/handler.h"

namespace corral::api {

class ActivityNote;
using NotePtr = std::shared_ptr<ActivityNote>;

// Shared by all who work on the request; written when the last of them has done with it.
class ActivityNote : public std::enable_shared_from_this<ActivityNote> {
 public:
  ActivityNote(ApiContext& context, std::shared_ptr<ActivityBoard> board, std::string_view dialect,
               const http::Request& request);
  ~ActivityNote();
  ActivityNote(const ActivityNote&) = delete;
  ActivityNote& operator=(const ActivityNote&) = delete;

  // The body, as it came.
  void said(std::string_view body);
  // A model's name, as it is asked for or found.
  void wants(std::string_view model) { model_ = model.substr(0, kLongestName); }
  // The node that works on it.
  void placed(const router::NodeRef& node) { node_ = node.value().substr(0, kLongestName); }
  // The same canonical answer; what it tells of itself is counted as it goes by.
  http::Response counted(http::Response answer);
  // The same answer, as the client gets it.
  http::Response answered(http::Response answer);

 private:
  friend class ActivityBoard;
  class CountedBody;
  static constexpr std::size_t kLongestName = 256;

  void heard(std::string_view events);
  void write() const;
  std::string outcome() const;

  ApiContext& context_;
  const std::shared_ptr<ActivityBoard> board_;
  const MonoTime began_;
  const std::string request_, owner_, path_, dialect_, client_;
  std::atomic<std::int64_t> pieces_ = 0, first_token_ms_ = -1;
  std::string model_, node_;
  unsigned status_ = 0;  // 0: the client left before there was one
  std::string failure_;  // why the answer is no, or a stream ended badly; empty: neither
  bool streams_ = false, ended_ = false;
  AnswerCount count_;
  std::shared_ptr<Capture> capture_;  // none: nothing is
  ActivityBoard::Place place_;        // the last one: from then on others look
};

// As a client names itself in `User-Agent`: its beginning, in printable ASCII.
std::string client_name(const http::Headers& headers);

}  // namespace corral::api
