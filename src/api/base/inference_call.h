// One inference request on its way through the filters, and what a filter is. The filters and their order: the table in
// api/routes.cpp.
//
// A filter reads and changes the call, and returns the answer of `next`, or an answer of its own. One that doesn't
// apply returns next(std::move(call)) without a coroutine of its own. On the loop of the request's connection, unless
// the answer is made in the background.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "backends/wrapped_server.h"
#include "base/clock.h"
#include "dialects/dialect.h"
#include "http/handler.h"

namespace corral::api {

class ActivityNote;  // activity/activity_note.h

// Objects of filters, by type: what an earlier filter leaves for a later one.
class Attachments {
 public:
  template <typename T>
  void set(std::shared_ptr<T> object) {
    objects_.emplace_back(&typeid(T), std::move(object));
  }
  // nullptr: none.
  template <typename T>
  std::shared_ptr<T> get() const {
    for (const auto& [type, object] : objects_)
      if (*type == typeid(T)) return std::static_pointer_cast<T>(object);
    return nullptr;
  }

 private:
  std::vector<std::pair<const std::type_info*, std::shared_ptr<void>>> objects_;
};

struct InferenceCall {
  http::Request request;
  std::string_view dialect;
  const dialects::Endpoint* endpoint = nullptr;  // outlives the call
  MonoTime began = {};
  std::shared_ptr<ActivityNote> note = {};

  std::string body = {};   // read, not parsed
  bool is_parsed = false;  // `canonical` has its result
  dialects::Canonical canonical = {};
  protocol::Ask ask = protocol::Ask::chat;
  std::optional<ModelType> type = {};  // required type of the model
  // The model, or why there is none: a filter may find another way. After known_model_step() there is one.
  Result<backends::ModelPtr> found = {};
  bool is_translated = false;  // the answer gets another form on its way to the client

  // For the forwarded request.
  std::uint64_t context = 0;               // tokens that the model needs; 0: any
  std::uint64_t conversation = 0;          // keeps its turns at one node
  bool background = false;                 // runs after others
  std::shared_ptr<const void> place = {};  // of the key, held until the response ends
  std::function<void()> started = {};      // called when a model works on it
  std::function<void()> at_end = {};       // called when a translated answer has ended successfully
  Attachments attached = {};
  std::shared_ptr<const void> filters = {};  // the list that is in use

  bool is_form() const { return endpoint->read_form != nullptr; }
  bool streams() const { return canonical.about.stream && endpoint->streams; }
  const backends::ModelPtr& model() const { return *found; }
};
using CallPtr = std::unique_ptr<InferenceCall>;

// The same request once more, for one of several calls of a backend: without body and canonical content.
CallPtr part_of(const InferenceCall& whole);

class Next;
using Filter = std::function<async::Task<http::Response>(CallPtr call, Next next)>;

// The filters after this one. Valid as long as the call.
class Next {
 public:
  explicit Next(const Filter* first) : first_(first) {}
  async::Task<http::Response> operator()(CallPtr call) const;

 private:
  const Filter* first_;
};

inline async::Task<http::Response> Next::operator()(CallPtr call) const {
  return (*first_)(std::move(call), Next(first_ + 1));
}

// Between events of a stream while a backend works.
inline constexpr Millis kPingEvery{1'000};

// The error as an answer.
async::Task<http::Response> refused(Error error);

// For messages: the path as in the documentation.
std::string_view shown_path(const dialects::Endpoint& endpoint);

}  // namespace corral::api
