// The target of an external server: translates requests to its format and paths, and limits their number.
//
// Requests arrive in canonical form (protocol/ask.h). The path becomes the server's, `model` its name for the model;
// fields are removed or added as the descriptor says, also in forms (form_fields.h). Responses pass with the name that
// the client sent (answer_name.h), errors in OpenAI's shape (error_shape.h); external_requests.h has the rest. A GET
// of /health is the watchdog's: it goes to the path of its readiness, outside the queue; any other path is answered 404
// here. Corral's own headers don't pass.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/offload.h"
#include "backends/client_pool.h"
#include "backends/external/external_requests.h"
#include "backends/external/known_backends.h"
#include "base/mutex.h"

namespace corral::backends {

// Shared by all requests to one server. Immutable, except the requests.
struct ExternalFormat {
  DescriptorPtr descriptor;
  std::string model;  // for messages
  std::string name;   // sent as "model"; empty: the client's value stays
  std::string base;   // prefix of every path: "/v1" if the address has one
  std::vector<std::pair<std::string, std::string>> headers;
  std::shared_ptr<ExternalRequests> requests;
  async::ThreadPool* threads = nullptr;  // for large bodies; nullptr: on the loop
};

class ExternalTargets {
 public:
  // `clock` must outlive the requests.
  ExternalTargets(const Clock& clock, std::shared_ptr<const ExternalFormat> words, http::Endpoint endpoint);
  ~ExternalTargets();
  // On any loop; for `executor`'s loop. Valid as long as this object.
  http::Target& on(async::Executor executor);
  // The target of readiness queries, also for servers without a watchdog.
  http::Target& probe(async::Executor executor);
  // Ends the requests that run, and later ones.
  void give_up() { words_->requests->give_up(); }

 private:
  class Target;
  Target& at(async::Executor executor, bool probe);

  const std::shared_ptr<const ExternalFormat> words_;
  ClientPool clients_;
  Mutex mutex_;  // held for a search in a few entries
  std::vector<std::pair<async::Executor, std::unique_ptr<Target>>> targets_ GUARDED_BY(mutex_);
  std::vector<std::pair<async::Executor, std::unique_ptr<Target>>> probes_ GUARDED_BY(mutex_);
};

// Sets the model's name in a request's body (empty: it stays), removes `strip`, adds `set`. `body`: a JSON object.
// Pure.
std::string in_their_words(std::string_view body, const Descriptor& descriptor, std::string_view name);

}  // namespace corral::backends
