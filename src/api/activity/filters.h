// Filters that record requests.
#pragma once

#include <memory>

#include "api/activity/activity_board.h"
#include "api/activity/activity_note.h"
#include "api/base/context.h"
#include "api/base/inference_call.h"

namespace corral::api {

// Makes the note of the request, and records the client's answer in it.
Filter noting_filter(CoreContext& core, std::shared_ptr<ActivityBoard> board);

// Counts the tokens of the canonical answer.
Filter counting_filter();

// The note belongs to the call alone: the waiting client gets another answer than the model's, which isn't recorded.
void leave_note_to(const InferenceCall& call);

}  // namespace corral::api
