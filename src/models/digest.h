// SHA-256 of what comes piece by piece, by the processor's own instructions where it has them. Not for several threads.
#pragma once

#include <memory>
#include <string_view>

#include "base/sha256.h"

struct evp_md_ctx_st;

namespace corral::models {

class Digest {
 public:
  Digest();

  void add(std::string_view bytes);
  // Once.
  Sha256 finish();

 private:
  std::shared_ptr<evp_md_ctx_st> context_;
};

Sha256 digest_of(std::string_view bytes);

}  // namespace corral::models
