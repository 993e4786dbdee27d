// Storage of one request of the Responses API, and the earlier responses that it continues.
//
// Reserves places in the store before the model works. If there are none, a request that insists on storage fails
// (503). Other requests are answered without storage, and the answer has "store": false; so has an answer that can't be
// written at its end, because the disk is full or doesn't respond. If the server stores nothing (`store_responses`),
// only requests that refer to stored data fail.
//
// A message of a WebSocket may also continue the latest response of its connection that isn't stored (last_response.h).
// The result isn't stored either, because its beginning isn't.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/responses/context.h"
#include "api/responses/last_response.h"
#include "dialects/dialect.h"
#include "http/handler.h"

namespace corral::api {

// The store of responses; nullptr: none.
store::Store* response_store(const ResponsesContext& context);
// Error for requests that need stored data, if the server stores nothing.
Error nothing_kept(std::string_view what);

// On one loop at a time.
class Keeping {
 public:
  // Reads a body of an endpoint that has `read_on`, and finds the responses that it continues. Errors: those of
  // reading; previous_response_not_found and nothing_kept; those of the store.
  static async::Task<Result<dialects::Canonical>> read(ResponsesContext& context, const dialects::Endpoint& endpoint,
                                                       const http::Request& request, std::string body,
                                                       std::shared_ptr<Keeping>& keeping);

  Keeping(store::Store* store, async::Timers& timers, const http::Request& request);

  const dialects::StorageRequest& storage() const { return *storage_; }
  bool in_background() const { return storage_->background; }
  const std::string& id() const { return id_; }
  const std::string& owner() const { return owner_; }
  store::Store& store() const { return *store_; }
  std::int64_t created() const { return created_; }
  // The row of an answer with this status.
  store::ResponseRow row(std::string status, std::string doc) const;

  // Stores the result. False: it isn't stored, or not within some seconds, although the document says so. Call it once.
  async::Task<bool> store_now(std::string status, std::string doc);
  // Removes the row of an answer that could not be stored. Waits no longer than store_now().
  async::Task<void> erase();

 private:
  void append_items(std::string_view status, const std::string& doc);
  // Whether the request continues the response that its WebSocket remembers.
  bool continues_last() const { return last_ && last_->is(storage_->previous); }
  void remember(std::string_view status, const std::string& doc);
  async::Task<Result<>> look_back(std::uint64_t max, dialects::Before& before) const;
  async::Task<Result<>> look_for_answers(std::uint64_t max, dialects::Before& before) const;
  async::Task<Result<>> look_for_items(std::uint64_t max, dialects::Before& before) const;

  store::Store* const store_;
  async::Timers& timers_;
  const std::string id_, owner_;
  std::int64_t created_ = 0;
  std::shared_ptr<const dialects::StorageRequest> storage_;
  store::Store::Place answer_, items_;
  const std::shared_ptr<LastResponse> last_;        // of the request's WebSocket; null: it has none
  std::shared_ptr<const dialects::Before> before_;  // what it continues; null: nothing
};

// The same answer; it is stored before its last bytes are sent, which say whether it is.
async::Task<http::Response> kept(http::Response answer, std::shared_ptr<Keeping> keeping);

}  // namespace corral::api
