#include "engine/worker/media_inputs.h"

#include "engine/values/errors.h"

namespace corral::engine {

MediaInputs::MediaInputs(Parts parts)
    : encoder_(std::move(parts.encoder)), sessions_(parts.sessions), finisher_(parts.finisher), faults_(parts.faults) {}

bool MediaInputs::ready(Session& session) {
  MediaSpan* const next = session.next_media();
  session.generation->awaits_media = next != nullptr && next->rows == nullptr;
  if (!session.generation->awaits_media) return true;
  Session* const before = std::exchange(faults_.session, &session);
  MediaEncoder::Found found;
  if (encoder_) {
    found = encoder_->find(next->piece);
    // The next one is encoded while this one is computed.
    if (const MediaSpan* const after = next + 1; after < session.media.data() + session.media.size() && !after->rows)
      (void)encoder_->find(after->piece);
  } else {
    found.failure = Error(errc::unsupported, "this model takes no pictures and no sounds");
  }
  next->rows = std::move(found.rows);
  if (found.failure) {
    finisher_.finish(session, FinishReason::error, std::move(found.failure));
  } else {
    session.generation->awaits_media = next->rows == nullptr;
    if (session.generation->awaits_media) sessions_.wait(session);
  }
  faults_.session = before;
  return session.generation && !session.generation->awaits_media;
}

void MediaInputs::send_to_wait() {
  for (std::size_t i = 0; i < sessions_.active().size();) {
    if (ready(*sessions_.active()[i])) ++i;
  }
}

}  // namespace corral::engine
