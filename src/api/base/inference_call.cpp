#include "api/base/inference_call.h"

#include "dialects/error_filter.h"

namespace corral::api {

CallPtr part_of(const InferenceCall& whole) {
  auto part = std::make_unique<InferenceCall>();
  part->request.head = whole.request.head;
  part->request.id = whole.request.id;
  part->request.peer = whole.request.peer;
  part->request.caller = whole.request.caller;
  part->request.session = whole.request.session;
  part->dialect = whole.dialect;
  part->endpoint = whole.endpoint;
  part->began = whole.began;
  part->note = whole.note;
  part->ask = whole.ask;
  part->type = whole.type;
  part->found = whole.found;
  part->context = whole.context;
  part->conversation = whole.conversation;
  part->background = whole.background;
  part->place = whole.place;
  part->started = whole.started;
  part->attached = whole.attached;
  part->filters = whole.filters;
  return part;
}

async::Task<http::Response> refused(Error error) { co_return dialects::error_response(error); }

std::string_view shown_path(const dialects::Endpoint& endpoint) {
  return endpoint.path.starts_with('/') ? endpoint.path.substr(1) : endpoint.path;
}

}  // namespace corral::api
