// Checks the bytes against the repository's hash. Written bytes are hashed soon, so bytes in order are still in the
// system's cache when they are read back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <openssl/types.h>

#include "base/error.h"
#include "downloads/hub/choice.h"

namespace corral::downloads {

// Used by one thread at a time. Blocks.
class ContentCheck {
 public:
  // For a file of `size` bytes.
  ContentCheck(HashKind kind, std::uint64_t size);
  ~ContentCheck();
  ContentCheck(ContentCheck&&) noexcept;
  ContentCheck& operator=(ContentCheck&&) noexcept;

  // Number of hashed bytes, from 0 on.
  std::uint64_t hashed() const { return hashed_; }
  // Reads the file further up to `end`. Errors: disk_failed.
  Result<> read_to(int file, std::uint64_t end);
  // The hash in lower-case hexadecimal digits; empty for a file without a hash. Once, when hashed() is the size.
  std::string digest();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const;
  };

  std::unique_ptr<EVP_MD_CTX, Free> context_;
  std::uint64_t hashed_ = 0;
};

}  // namespace corral::downloads
