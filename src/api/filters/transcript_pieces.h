// Transcripts of long sound, piece by piece, for backends that answer only as a whole. A stream gets the text of each
// piece as soon as it is transcribed. Pieces are asked for one after the other, so requests of other clients come
// between them, and a client that leaves costs at most the running piece.
#pragma once

#include "api/base/inference_call.h"
#include "api/filters/context.h"

namespace corral::api {

// Seconds from which on a file is transcribed in pieces, also if the client wants no stream.
inline constexpr double kLongSound = 180;

// Whether the model's backend answers only as a whole, as far as it is known.
bool answers_as_whole(const models::ModelInfo& model);

}  // namespace corral::api
