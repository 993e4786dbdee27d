// What is kept of one request of the Responses API, and what it goes on from.
//
// Places in the store are taken before the model works: who says that its answer is to be kept is refused while that
// can't be (503); who says nothing of it is answered without, and the answer says "store": false. Where the server is
// told to keep nothing (`store_responses`), nobody is refused for wanting it, but for looking back.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/context.h"
#include "dialects/dialect.h"
#include "http/handler.h"

namespace corral::api {

// Where responses are kept; nullptr: nowhere.
store::Store* response_store(const ApiContext& context);
// For those who ask for what is kept, where nothing is.
Error nothing_kept(std::string_view what);

// On one loop at a time.
class Keeping {
 public:
  // Reads a body of an endpoint that has `read_on`, and looks for what it goes on from. Errors: those of reading;
  // previous_response_not_found and nothing_kept; those of the store.
  static async::Task<Result<dialects::Canonical>> read(ApiContext& context, const dialects::Endpoint& endpoint,
                                                       const http::Request& request, std::string body,
                                                       std::shared_ptr<Keeping>& keeping);

  Keeping(store::Store* store, const http::Request& request);

  const dialects::StorageRequest& wish() const { return *wish_; }
  bool in_background() const { return wish_->background; }
  const std::string& id() const { return id_; }
  const std::string& owner() const { return owner_; }
  store::Store& store() const { return *store_; }
  std::int64_t created() const { return created_; }
  // The row of an answer that has come that far.
  store::ResponseRow row(std::string status, std::string doc) const;

  // What it came to. Once; nobody waits for it.
  void finish(std::string_view status, std::string doc);

 private:
  async::Task<Result<>> look_back(std::uint64_t most, dialects::Before& before) const;
  async::Task<Result<>> look_for_answers(std::uint64_t most, dialects::Before& before) const;
  async::Task<Result<>> look_for_items(std::uint64_t most, dialects::Before& before) const;

  store::Store* const store_;
  const std::string id_, owner_;
  std::int64_t created_ = 0;
  std::shared_ptr<const dialects::StorageRequest> wish_;
  store::Store::Place answer_, items_;
};

// The same answer, which is kept when the last of it has come.
http::Response kept(http::Response answer, std::shared_ptr<Keeping> keeping);

}  // namespace corral::api
