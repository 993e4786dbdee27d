#include "api/activity/filters.h"

#include <utility>

namespace corral::api {
namespace {

// Of the waiting client; null once the answer is made elsewhere.
struct ClientNote {
  NotePtr note;
};

async::Task<http::Response> noted(std::shared_ptr<ClientNote> mine, CallPtr call, Next next) {
  auto answering = next(std::move(call));
  auto answer = co_await std::move(answering);
  if (!mine->note) co_return answer;
  co_return mine->note->answered(std::move(answer));
}

async::Task<http::Response> counted(CallPtr call, Next next) {
  const auto note = call->note;
  auto answering = next(std::move(call));
  auto answer = co_await std::move(answering);
  co_return note->counted(std::move(answer));
}

}  // namespace

Filter noting_filter(CoreContext& core, std::shared_ptr<ActivityBoard> board) {
  return [&core, board = std::move(board)](CallPtr call, Next next) {
    call->note = std::make_shared<ActivityNote>(core, board, call->dialect, call->request);
    auto mine = std::make_shared<ClientNote>(call->note);
    call->attached.set(mine);
    return noted(std::move(mine), std::move(call), next);
  };
}

Filter counting_filter() {
  return [](CallPtr call, Next next) { return counted(std::move(call), next); };
}

void leave_note_to(const InferenceCall& call) {
  if (const auto client = call.attached.get<ClientNote>()) client->note.reset();
}

}  // namespace corral::api
