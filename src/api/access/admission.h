// Whether the key of a request is still valid, for answers without an end: a revoked key ends them.
#pragma once

#include <string>
#include <utility>

#include "api/access/key_store.h"

namespace corral::api {

class Admission {
 public:
  // `keys` must outlive it; null: no key is required. `key`: the identifier of the caller's key; empty: it has none.
  Admission(const KeyStore* keys, std::string key) : keys_(keys), key_(std::move(key)) {}

  bool holds() const { return keys_ == nullptr || keys_->table()->admits(key_); }

 private:
  const KeyStore* keys_;
  std::string key_;
};

}  // namespace corral::api
