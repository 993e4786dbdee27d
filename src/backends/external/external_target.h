// Where requests for an external server go: in its words, at its paths, no more of them at once than it takes.
//
// What comes in is canonical (protocol/ask.h). On the way the path becomes the server's, `model` its name for the
// model, fields that it shouldn't see go and fields that it is to have come. Of a form only the name of the model is
// changed. Answers pass untouched. A GET of /health is the watchdog's: it goes to the path of its readiness, beside the
// queue; any other path is answered 404 here. Headers of ours don't pass.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "async/offload.h"
#include "backends/client_pool.h"
#include "backends/external/known_backends.h"
#include "backends/external/request_gate.h"

namespace corral::backends {

// What requests to one server have in common. Immutable, but for the gate.
struct ExternalFormat {
  DescriptorPtr descriptor;
  std::string model;  // for messages
  std::string name;   // sent as "model"; empty: what the client said stays
  std::string base;   // in front of every path: "/v1" of an address that has one
  std::vector<std::pair<std::string, std::string>> headers;
  std::shared_ptr<RequestGate> gate;
  async::ThreadPool* threads = nullptr;  // for large bodies; none: on the loop
};

class ExternalTargets {
 public:
  ExternalTargets(std::shared_ptr<const ExternalFormat> words, http::Endpoint endpoint);
  ~ExternalTargets();
  // On any loop; for `executor`'s loop. Valid as long as this object.
  http::Target& on(async::Executor executor);
  // Where a GET of /health really asks, even of what isn't watched.
  http::Target& probe(async::Executor executor);

 private:
  class Target;

  const std::shared_ptr<const ExternalFormat> words_;
  ClientPool clients_;
  std::mutex mutex_;  // held for a search in a handful of entries
  Target& at(std::vector<std::pair<async::Executor, std::unique_ptr<Target>>>& list, async::Executor executor,
             bool always_asks);

  std::vector<std::pair<async::Executor, std::unique_ptr<Target>>> targets_, probes_;
};

// A request's body with the model's name in its place, without `strip`, with `set`. `body`: a JSON object. Pure.
std::string in_their_words(std::string_view body, const ExternalFormat& words);

}  // namespace corral::backends
