#include "mesh/peers/streams/tracked_stream.h"

namespace corral::mesh {

using async::Task;

TrackedStream::~TrackedStream() {
  body_->inner->close();
  body_->slot.reset();
}

Task<Result<>> TrackedStream::write(std::string_view bytes) {
  body_->bytes->out += bytes.size();
  return body_->inner->write(bytes);
}

Task<Result<std::size_t>> TrackedStream::read_from(BodyPtr body, std::span<char> space) {
  const auto got = co_await body->inner->read_some(space);
  if (got) body->bytes->in += *got;
  co_return got;
}

}  // namespace corral::mesh
